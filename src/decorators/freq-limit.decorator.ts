import { declareReference, declareRule, nextOrder } from '../rules/metadata.js';
import type { FreqLimitRule, FromContext, KeySpec, RuleChanges, Window } from '../rules/rule.js';
import { classOrMethodDecorator } from './class-or-method.js';

/** The type of a name. A window is not a name: errors of the compiler show this text. */
type NameOf<Text extends string> = Text extends Window
  ? 'after a window comes its limit, a number or a function'
  : Text;

// One overload takes one argument, and it is the first. So an editor completes the options of `{ }` from it, and the
// compiler shows only its errors: at the wrong option, without those of other overloads. Without the default of `Name`,
// the parameter of a `normalize` function would have no type, because strings have a method of that name.

/**
 * Limits how many requests a handler may get, or all handlers of a controller together, by a rule with all its options:
 * `@FreqLimit({ window: '15m', limit: 5, key: '{body.user}{ip}', countWhen: 'failure' })`. A string is the name of a rule of
 * the module's `namedRules`: `@FreqLimit('login')`. Several of these decorators add up, and one call to Redis checks them
 * all. Requests over the limit get 429.
 *
 * Wrong rules and unknown names stop the application at start-up, with an error that names the class, the method, the option
 * and what is expected.
 *
 * @param rule at least `window` and `limit`, or the name of a rule in `namedRules`
 */
export function FreqLimit<Name extends string = never>(
  rule: FreqLimitRule | NameOf<Name>,
): ClassDecorator & MethodDecorator;
/**
 * Limits how many requests a handler may get, or all handlers of a controller together:
 * `@FreqLimit('1m', 1, 'phone:{body.phone}')`. Several of these decorators add up. Requests over the limit get 429. Wrong
 * values stop the application at start-up.
 *
 * @param window length of the fixed window: a string with a unit such as `'1m'`, or a number of seconds
 * @param limit requests allowed in a window, a whole number of at least 0; 0 denies every request
 * @param key what to count by; default: the module's `defaultKey`, which is `'{ip}'`
 */
export function FreqLimit(
  window: Window | FromContext<Window>,
  limit: number | FromContext<number>,
  key?: KeySpec,
): ClassDecorator & MethodDecorator;
/**
 * Applies a rule of the module's `namedRules` with changes: `@FreqLimit('login', { limit: 3 })`. It counts as if it were
 * written here with its name. An unknown name or a wrong change stops the application at start-up.
 *
 * @param name name of the rule in `namedRules`
 * @param changes options that are different here; `undefined` changes nothing
 */
export function FreqLimit<Name extends string>(
  name: NameOf<Name>,
  changes: RuleChanges | undefined,
): ClassDecorator & MethodDecorator;
export function FreqLimit(
  first: FreqLimitRule | string | number | FromContext<Window>,
  second?: number | FromContext<number> | RuleChanges,
  key?: KeySpec,
): ClassDecorator & MethodDecorator {
  const order = nextOrder();
  if (typeof first === 'string' && isChanges(second) && key === undefined) {
    const reference = { named: first, changes: second === undefined ? {} : { ...second } };
    return classOrMethodDecorator('@FreqLimit', (target, handler) => {
      declareReference(reference, order, target, handler);
    });
  }
  const isRule = typeof first === 'object' && second === undefined;
  const rule = isRule ? { ...first } : ({ window: first, limit: second, key } as FreqLimitRule);
  return classOrMethodDecorator('@FreqLimit', (target, handler) => {
    declareRule(rule, order, target, handler);
  });
}

/** Whether the second argument is not a limit. */
function isChanges(second: unknown): second is RuleChanges | undefined {
  return second === undefined || (typeof second === 'object' && second !== null && !Array.isArray(second));
}
