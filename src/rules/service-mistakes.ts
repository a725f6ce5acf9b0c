import { type FreqLimitError, formatForLog, invalidCheck, quoted } from '../core/errors.js';
import { isPromise } from '../core/maybe-promise.js';
import { hintsFor, type OptionHints } from '../core/option-hints.js';
import type { OptionReader } from '../core/validate.js';
import { RULE_HINTS } from './rule-hints.js';
import type { FreqLimitCheck } from './service-check-types.js';
import { MISSING_WINDOW, toWindowMs } from './window.js';

// Advice for wrong arguments of FreqLimitService. Keys are personal data, so no message contains one.

export type ServiceMethod = 'consume' | 'peek' | 'reset' | 'hold';

const EXAMPLE = {
  consume: "key, window: '1m', limit: 5",
  peek: "key, window: '1m', limit: 5",
  reset: "key, window: '1m'",
  hold: 'key, concurrency: 5',
};
const HOW_TO_SETTLE = 'call consume(check, { settle: true }), and then settle(cost) of its verdict';
/** Options of rules that a check cannot have. */
const ONLY_RULES = [
  'normalize',
  'scope',
  'onMissingKey',
  'skipIf',
  'countWhen',
  'maxShare',
  'shadow',
  'statusCode',
  'message',
  'hidden',
];

/** Hints for options of a check: names that other libraries use. */
export const CHECK_HINTS: OptionHints = {
  ...RULE_HINTS,
  ...hintsFor(ONLY_RULES, { advice: 'leave it out: only rules of the guard have it' }),
  points: 'limit, or cost for the units of one call',
  ...hintsFor(['actualCost', 'realCost', 'costAfter', 'finalCost', 'settle'], { advice: HOW_TO_SETTLE }),
  id: 'key',
  ip: 'key',
  user: 'key',
  ...hintsFor(['controller', 'handler'], { advice: 'for the counter of a rule, add its name: rule' }),
  address: 'key',
};

/** Hints for options of a check that names a rule. */
export const RULE_CHECK_HINTS: OptionHints = {
  ...CHECK_HINTS,
  ...hintsFor(['name', 'countDenied', 'onStoreError', 'algorithm', 'blockFor', 'forgiveAfter'], {
    advice: 'leave it out: the rule has its own',
  }),
  class: 'controller',
  method: 'handler',
  ip: 'address',
};

/** The error for a second argument, as other libraries have one. */
export function tooManyArguments(method: ServiceMethod, first: unknown, second: unknown): FreqLimitError {
  const cost = method !== 'reset' && typeof second === 'number' ? `, cost: ${second}` : '';
  return invalidCheck(
    typeof first === 'object' && first !== null
      ? `${method}: takes one argument; write several checks as a list: ${method}([{ … }, { … }]), and units as cost of a check`
      : `${method}: takes one argument, a check; write ${method}({ ${EXAMPLE[method]}${cost} })`,
  );
}

/** The error for a second argument of `hold` that is not a function. */
export function notAFunction(given: unknown): FreqLimitError {
  return invalidCheck(
    `hold: ${formatForLog(given)} is not a function; write hold({ ${EXAMPLE.hold} }, async () => …)`,
  );
}

/** The error for a check that is not an object. */
export function notACheck(check: unknown, method: ServiceMethod, place: string): FreqLimitError {
  const given = typeof check === 'string' ? 'a string' : formatForLog(check);
  return invalidCheck(`${place}: ${given} is not a check; write ${method}({ ${EXAMPLE[method]} })`);
}

/** The window of a check in milliseconds. */
export function readWindow(check: FreqLimitCheck, reader: OptionReader): number {
  if (check.window === undefined) throw reader.invalid('window', withoutWindow(check));
  return reader.parsed('window', () => toWindowMs(check.window));
}

/** The problem of a check without a window. */
function withoutWindow(check: object): string {
  if (isPromise(check)) return 'is missing, because the check is a promise; await it';
  const { name } = check as { readonly name?: unknown };
  if (typeof name !== 'string') return MISSING_WINDOW;
  return `${MISSING_WINDOW}; for the counter of a rule write { rule: ${quoted(name)}, key }`;
}
