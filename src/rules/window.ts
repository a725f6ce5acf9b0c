import { NAN_HINT } from '../core/conversion-hint.js';
import { formatForLog } from '../core/errors.js';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const WITHOUT_UNIT = /^\d{1,16}(\.\d{1,16})?$/;

/** Completes "is not a window; expected …". */
export const EXPECTED_WINDOW =
  "a string with a unit ('500ms', '10s', '1m', '1h', '1d') or a number of seconds, from 1 ms to 2^53 - 1 ms";

/** The problem of a rule or a check without a window. */
export const MISSING_WINDOW = "is missing; expected a string with a unit, such as '1m'";

/** Units of the calendar that no window of a length has. */
const CALENDAR_UNIT = /^1? ?(week|month|year)s?$/i;

/**
 * Converts a window to milliseconds.
 * @param noun what messages call it
 * @throws {RangeError} if it is not a window; the message says what was given and what is expected
 */
export function toWindowMs(window: unknown, noun = 'window'): number {
  const ms = typeof window === 'number' ? window * UNITS.s : parse(window);
  // 1.1 s is 1100.0000000000002 ms in floating point, and means 1100
  const whole = Math.round(ms);
  if (Number.isSafeInteger(whole) && whole >= 1 && Math.abs(ms - whole) < 1e-6 + ms * 1e-15) return whole;
  throw new RangeError(notAWindow(window, noun));
}

/** Says that a value is not a window, and what to write. */
function notAWindow(window: unknown, noun: string): string {
  const problem = `${formatForLog(window)} is not a ${noun}`;
  const [, unit] = CALENDAR_UNIT.exec(typeof window === 'string' ? window : '') ?? [];
  if (unit !== undefined) return `${problem}; for a ${unit} of the calendar write { calendar: '${unit}' }`;
  if (typeof window === 'string' && WITHOUT_UNIT.test(window))
    return `${problem}, because its unit is missing; write '${window}s' or Number('${window}') for seconds, '${window}ms' for milliseconds`;
  return `${problem}; expected ${EXPECTED_WINDOW}${Number.isNaN(window) ? NAN_HINT : ''}`;
}

function parse(window: unknown): number {
  const [, amount, unit] = PATTERN.exec(typeof window === 'string' ? window : '') ?? [];
  return amount === undefined ? NaN : Number(amount) * UNITS[unit as keyof typeof UNITS];
}

/** Whether a string is written like a window, and therefore is not allowed as a name. */
export function looksLikeWindow(text: string): boolean {
  return PATTERN.test(text);
}

/** Writes a window in the largest unit that gives a whole number: 60000 → `1m`. */
export function windowName(windowMs: number): string {
  const unit = (['d', 'h', 'm', 's'] as const).find((candidate) => windowMs % UNITS[candidate] === 0) ?? 'ms';
  return `${windowMs / UNITS[unit]}${unit}`;
}
