import { declareRule, nextOrder } from '../rules/metadata.js';
import type { FreqLimitRule, KeySpec, OfContext, Window } from '../rules/rule.js';
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
 * ```
 */
export function FreqLimit(
  window: Window | OfContext<Window>,
  limit: number | OfContext<number>,
  key?: KeySpec,
): ClassDecorator & MethodDecorator;
export function FreqLimit(rule: FreqLimitRule): ClassDecorator & MethodDecorator;
export function FreqLimit(
  first: FreqLimitRule | Window | OfContext<Window>,
  limit?: number | OfContext<number>,
  key?: KeySpec,
): ClassDecorator & MethodDecorator {
  const isRule = typeof first === 'object' && limit === undefined;
  const rule = isRule ? { ...first } : ({ window: first, limit, key } as FreqLimitRule);
  const order = nextOrder();
  return decorate('@FreqLimit', (target, handler) => {
    declareRule(rule, order, target, handler);
  });
}
