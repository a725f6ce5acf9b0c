import { zonedCalendar } from '../core/calendar/zoned-calendar.js';
import { formatForLog } from '../core/errors.js';
import { COUNT, NOT_EMPTY, type OptionReader } from '../core/validate.js';
import { normalizeFailed } from './evaluate.js';
import type { KeyValue } from './key/key-types.js';
import { NormalizeError } from './key/normalize.js';
import type { PlannedRule } from './planned-rule.js';
import type { RuleCheck } from './service-check-types.js';
import { readWindow } from './service-mistakes.js';

const LIMIT_OR_CONCURRENCY = ['limit', 'concurrency'] as const;
const CONCURRENCY_OR_LIMIT = ['concurrency', 'limit'] as const;

// the values of a check that names a rule: those of the rule, or those that are passed instead of its functions

/** The length of the window in milliseconds, or the time zone of a calendar. */
export function spanOfCheck(check: RuleCheck, rule: PlannedRule, reader: OptionReader): number | string {
  const { window, span } = rule;
  if (check.window !== undefined && rule.kindName === 'concurrency')
    throw notNeeded('window', 'has no window', rule, reader);
  const hasCalendar = typeof window === 'object';
  if (check.window !== undefined && (hasCalendar || typeof span !== 'function')) {
    throw notNeeded('window', 'has its own window', rule, reader);
  }
  if (check.timeZone !== undefined && (!hasCalendar || typeof span !== 'function')) {
    throw notNeeded('timeZone', hasCalendar ? 'has its own time zone' : 'has no calendar', rule, reader);
  }
  if (typeof span !== 'function') return span;
  return hasCalendar ? zoneOf(check, rule, reader) : readWindow(check, reader);
}

function zoneOf({ timeZone }: RuleCheck, { name, window }: PlannedRule, reader: OptionReader): string {
  if (timeZone === undefined) throw missing('timeZone', 'the time zone', name, 'its name', reader);
  reader.required('timeZone', timeZone, NOT_EMPTY);
  reader.parsed('timeZone', () => typeof window === 'object' && zonedCalendar(window.calendar, timeZone));
  return timeZone;
}

/** The limit; `undefined` if it is not known and not needed. */
export function limitOf(
  check: RuleCheck,
  rule: PlannedRule,
  reader: OptionReader,
  isNeeded: boolean,
): number | undefined {
  const { name, limit, kindName } = rule;
  const [option, other] = kindName === 'concurrency' ? CONCURRENCY_OR_LIMIT : LIMIT_OR_CONCURRENCY;
  if (check[other] !== undefined) throw notNeeded(other, `has no ${other}`, rule, reader);
  const given = reader.optional(option, check[option], COUNT);
  if (given !== undefined || typeof limit === 'number') return given ?? (limit as number);
  if (isNeeded) throw missing(option, `the ${option}`, name, 'a number', reader);
  return undefined;
}

/** The cost; 1 if the rule has a function. A slot of a rule with `concurrency` has no other. */
export function costOf(check: RuleCheck, rule: PlannedRule, reader: OptionReader): number {
  if (check.cost !== undefined && rule.kindName === 'concurrency')
    throw notNeeded('cost', 'has no cost', rule, reader);
  return reader.optional('cost', check.cost, COUNT) ?? (typeof rule.cost === 'number' ? rule.cost : 1);
}

/** The burst of a token bucket; `undefined` if it is the limit, or not needed. */
export function burstOf(
  check: RuleCheck,
  rule: PlannedRule,
  reader: OptionReader,
  isNeeded: boolean,
): number | undefined {
  const given = reader.optional('burst', check.burst, COUNT);
  if (rule.kindName !== 'token-bucket') {
    if (given !== undefined) throw notNeeded('burst', 'is not a token bucket', rule, reader);
    return undefined;
  }
  if (given !== undefined || typeof rule.burst !== 'function')
    return given ?? (rule.burst as number | undefined);
  if (isNeeded) throw missing('burst', 'the burst', rule.name, 'a number', reader);
  return undefined;
}

/** If a `normalize` function of the rule fails, the values are not to blame: that is another error. */
export function textFromValues(
  rule: PlannedRule,
  values: readonly KeyValue[],
  canonical: (address: string) => string,
  reader: OptionReader,
): string | undefined {
  try {
    return rule.key.textFromValues(values, canonical);
  } catch (error) {
    if (error instanceof NormalizeError) throw normalizeFailed(rule, error);
    throw reader.invalid('key', (error as Error).message, error);
  }
}

function notNeeded(option: string, why: string, { name }: PlannedRule, reader: OptionReader): Error {
  return reader.invalid(option, `the rule ${formatForLog(name)} ${why}; remove this option`);
}

function missing(option: string, what: string, name: string, pass: string, reader: OptionReader): Error {
  return reader.invalid(
    option,
    `is missing; ${what} of the rule ${formatForLog(name)} is a function, so pass ${pass}`,
  );
}
