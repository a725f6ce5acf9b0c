import type { ExecutionContext } from '@nestjs/common';
import { zonedCalendar } from '../core/calendar/zoned-calendar.js';
import { conversionHint } from '../core/conversion-hint.js';
import { FreqLimitError, formatError, formatForLog } from '../core/errors.js';
import { attempt, isPromise, type MaybePromise } from '../core/maybe-promise.js';
import { COUNT } from '../core/validate.js';
import { isCalendar } from './any-window.js';
import type { ReadCalendarWindow } from './calendar/read-calendar-window.js';
import { NormalizeError } from './key/normalize.js';
import { TooLongError } from './key/spellings.js';
import type { PlannedRule } from './planned-rule.js';
import type { FromContext } from './rule.js';
import { labelOf } from './rule-label.js';
import { toWindowMs } from './window.js';

/** A function of a rule or of the module failed or returned an invalid value. */
export class RuleError extends FreqLimitError {
  /** The place and name of the rule, as in messages. */
  declare readonly rule: string;

  constructor(rule: string, problem: string, cause: unknown) {
    super('FREQ_LIMIT_RULE_FAILED', `${rule}: ${problem}`, { cause });
    // not enumerable: an error is printed with such properties, and the message has it already
    Object.defineProperty(this, 'rule', { value: rule });
  }
}

/** The rule that a function belongs to, or the module. */
interface FunctionOwner {
  readonly place: string;
  /** The rule's name; the module's own functions have none. */
  readonly name?: string;
}

/**
 * Calls a function of a rule or of the module. Its error becomes a rejection that names the place.
 * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED`, always as a rejection
 */
export function evaluate<T>(
  owner: FunctionOwner,
  property: string,
  run: FromContext<T>,
  context: ExecutionContext,
): MaybePromise<T> {
  const value = attempt(() => run(context));
  if (!isPromise(value)) return value;
  return Promise.resolve(value).then(undefined, (error: unknown) => {
    if (error instanceof TooLongError) throw error;
    if (error instanceof NormalizeError) throw normalizeFailed(owner, error);
    throw failed(owner, `the ${property} function failed: ${formatError(error)}`, error);
  });
}

/** An option that may be a function. */
type Property = 'window' | 'timeZone' | 'limit' | 'concurrency' | 'cost' | 'burst';

/** The constant itself, or the result of the function. */
export function constantOrResult(
  rule: PlannedRule,
  property: Property,
  value: number | string | FromContext<unknown>,
  context: ExecutionContext,
): unknown {
  return typeof value === 'function' ? evaluate(rule, property, value, context) : value;
}

/** Names `normalize` in the message, not the key that uses it. */
export function normalizeFailed(owner: FunctionOwner, error: NormalizeError): FreqLimitError {
  return failed(owner, `the normalize function failed: ${error.message}`);
}

/**
 * The length of a window in milliseconds, or a time zone.
 * @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED`
 */
export function validSpan(rule: PlannedRule, span: unknown): number | string {
  const { window } = rule;
  if (typeof window === 'number') return window;
  try {
    return typeof window === 'object' ? validZone(window, span) : toWindowMs(withoutCalendar(span));
  } catch (error) {
    const name = typeof window === 'object' ? 'timeZone' : 'window';
    throw failed(rule, `the ${name} function returned an invalid value: ${(error as Error).message}`);
  }
}

function validZone({ calendar }: ReadCalendarWindow, timeZone: unknown): string {
  zonedCalendar(calendar, timeZone);
  return timeZone as string;
}

function withoutCalendar(window: unknown): unknown {
  if (!isCalendar(window)) return window;
  throw new TypeError(
    'a calendar; write it without a function, as in window: { calendar, timeZone }: timeZone may be a function',
  );
}

/** @throws {FreqLimitError} `FREQ_LIMIT_RULE_FAILED` */
export function validCount(
  rule: PlannedRule,
  property: 'limit' | 'concurrency' | 'cost' | 'burst',
  value: unknown,
): number {
  if (COUNT.test(value)) return value;
  const problem = `the ${property} function returned ${formatForLog(value)}, which is not ${COUNT.expected}`;
  throw failed(rule, problem + conversionHint(value, COUNT.test));
}

function failed({ place, name }: FunctionOwner, problem: string, cause?: unknown): FreqLimitError {
  return new RuleError(name === undefined ? place : labelOf({ place, name }), problem, cause);
}
