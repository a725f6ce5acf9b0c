import { declareReference, declareRule, nextOrder } from '../rules/metadata.js';
import type { AnyRule, CalendarWindow, FromContext, KeySpec, RuleChanges, Window } from '../rules/rule.js';
import { classOrMethodDecorator } from './class-or-method.js';
import { rejectWithoutParentheses } from './decorated-place.js';
import { readRuleArguments } from './rule-arguments.js';

// The order and the forms of these overloads decide what an editor completes in `@FreqLimit({ })`, and which errors a
// compiler shows for a wrong rule: those of the first overload alone. The tests of the packed package try this.

/** The type of a name. A window is not a name: the compiler shows this text. */
type NameOf<Name> = Name extends Window ? 'after a window comes its limit, a number or a function' : Name;
/** For anything but a name, more arguments than a call has. So the overload does not fit, and compilers omit its errors. */
type ChangesOf<Name> = Name extends Window
  ? []
  : Name extends string
    ? [changes?: RuleChanges]
    : [never, never, never, never];

/**
 * Limits how many requests a handler may get, or all handlers of a controller together:
 * `@FreqLimit({ window: '15m', limit: 5, key: '{body.user}{ip}', countWhen: 'failure' })`. Several of these decorators add
 * up, and one call to Redis checks them all. Requests over the limit get 429.
 *
 * Wrong rules stop the application at start-up, with an error that names the class, the method, the option and what is
 * expected.
 *
 * @param rule at least `window` and `limit`, or `concurrency`
 */
export function FreqLimit(rule: AnyRule): ClassDecorator & MethodDecorator;
/**
 * Limits how many requests a handler may get, or all handlers of a controller together:
 * `@FreqLimit('1m', 1, 'phone:{body.phone}')`. Several of these decorators add up. Requests over the limit get 429. Wrong
 * values stop the application at start-up.
 *
 * @param window length of the window: a string with a unit such as `'1m'`, or a number of seconds; or a period of the
 * calendar, such as `{ calendar: 'month', timeZone: 'Europe/Berlin' }`
 * @param limit requests allowed in a window, a whole number of at least 0; 0 denies every request
 * @param key what to count by; default: the module's `defaultKey`, which is `'{ip}'`
 */
export function FreqLimit(
  window: Window | CalendarWindow | FromContext<Window>,
  limit: number | FromContext<number>,
  key?: KeySpec,
): ClassDecorator & MethodDecorator;
/**
 * Applies a rule of the module's `namedRules`: `@FreqLimit('login')`, or `@FreqLimit('login', { limit: 3 })` with changes.
 * It counts as if it were written here with its name. An unknown name stops the application at start-up.
 *
 * @param name name of the rule in `namedRules`
 * @param changes options that are different here; `undefined` changes nothing
 */
export function FreqLimit<const Name>(
  name: NameOf<Name>,
  ...changes: ChangesOf<Name>
): ClassDecorator & MethodDecorator;
export function FreqLimit(...given: readonly unknown[]): ClassDecorator & MethodDecorator {
  rejectWithoutParentheses('@FreqLimit', "@FreqLimit('1m', 5)", given);
  const order = nextOrder();
  const read = readRuleArguments(given);
  return classOrMethodDecorator('@FreqLimit', (target, handler) => {
    if (read.named === undefined) declareRule(read.rule, order, target, handler);
    else declareReference(read, order, target, handler);
  });
}
