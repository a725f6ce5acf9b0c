import { declareReference, declareRule, nextOrder } from '../rules/metadata.js';
import type { FreqLimitRule, KeySpec, FromContext, RuleChanges, Window } from '../rules/rule.js';
import { decorate } from './decorate.js';

/**
 * Limits how often a handler, or all handlers of a controller together, may be visited. Any number may stand on
 * either; all of them hold, and all are asked in one call of the store.
 *
 * Rules are checked when the application starts; a wrong one stops it with an error that names class, method,
 * option and the right form.
 *
 * @param window how long a counter lives: `'1m'`, or a number of seconds
 * @param limit visits that pass in a window
 * @param key whom to count by, such as `'phone:{body.phone}'`; the module's `defaultKey` (`'{ip}'`) when left out
 *
 * @example
 * ```ts
 * @Post('code')
 * @FreqLimit('1m', 1, 'phone:{body.phone}')
 * @FreqLimit({ window: '1d', limit: 10, key: 'phone:{body.phone}', name: 'daily' })
 * send() {}
 *
 * @Post('login')
 * @FreqLimit('login')                          // the rule `login` of the module's `namedRules`
 * @FreqLimit('signup', { limit: 3 })           // the same with another limit
 * login() {}
 * ```
 */
export function FreqLimit(
  window: Window | FromContext<Window>,
  limit: number | FromContext<number>,
  key?: KeySpec,
): ClassDecorator & MethodDecorator;
export function FreqLimit(rule: FreqLimitRule): ClassDecorator & MethodDecorator;
/**
 * Refers to a rule of the module's `namedRules`, which counts here as if it were written here under that name.
 * @param name its name there
 * @param changes what is otherwise here
 */
export function FreqLimit<Name extends string>(
  // a window alone is a limit forgotten
  name: Name extends Window ? never : Name,
  changes?: RuleChanges,
): ClassDecorator & MethodDecorator;
export function FreqLimit(
  first: FreqLimitRule | string | number | FromContext<Window>,
  second?: number | FromContext<number> | RuleChanges,
  key?: KeySpec,
): ClassDecorator & MethodDecorator {
  const order = nextOrder();
  if (typeof first === 'string' && isChanges(second) && key === undefined) {
    const reference = { named: first, changes: second === undefined ? {} : { ...second } };
    return decorate('@FreqLimit', (target, handler) => {
      declareReference(reference, order, target, handler);
    });
  }
  const isRule = typeof first === 'object' && second === undefined;
  const rule = isRule ? { ...first } : ({ window: first, limit: second, key } as FreqLimitRule);
  return decorate('@FreqLimit', (target, handler) => {
    declareRule(rule, order, target, handler);
  });
}

/** Nothing, or an object: no limit. */
function isChanges(second: unknown): second is RuleChanges | undefined {
  return second === undefined || (typeof second === 'object' && second !== null && !Array.isArray(second));
}
