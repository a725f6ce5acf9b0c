import { formatForLog } from '../core/errors.js';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

const WINDOW_FORM =
  "a text with its unit ('500ms', '10s', '1m', '1h', '1d') or a number of seconds, from 1 ms to 2^53 - 1 ms";

/**
 * The milliseconds of a window.
 * @throws {RangeError} when it is none; the message says what was given and what is wanted
 */
export function toWindowMs(window: unknown): number {
  const ms = typeof window === 'number' ? window * UNITS.s : parse(window);
  // 1.1 s is 1100.0000000000002 ms in floating point, and was meant to be 1100
  const whole = Math.round(ms);
  if (Number.isSafeInteger(whole) && whole >= 1 && Math.abs(ms - whole) < 1e-6 + ms * 1e-15) return whole;
  throw new RangeError(`${formatForLog(window)} is no window: ${WINDOW_FORM}`);
}

function parse(window: unknown): number {
  const [, amount, unit] = FORM.exec(typeof window === 'string' ? window : '') ?? [];
  return amount === undefined ? NaN : Number(amount) * UNITS[unit as keyof typeof UNITS];
}

/** Whether a text is written as a window is, so that nobody would take it for a name. */
export function looksLikeWindow(text: string): boolean {
  return FORM.test(text);
}

/** Whether a bare number of seconds looks as if milliseconds had been meant. */
export function looksLikeMilliseconds(window: unknown): window is number {
  return typeof window === 'number' && window >= 10_000 && window % 1_000 === 0;
}

/** The longest unit that says a window in a whole number: 60000 → `1m`. */
export function windowName(windowMs: number): string {
  const unit = (['d', 'h', 'm', 's'] as const).find((candidate) => windowMs % UNITS[candidate] === 0) ?? 'ms';
  return `${windowMs / UNITS[unit]}${unit}`;
}
