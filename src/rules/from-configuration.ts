import { invalidRule } from '../core/errors.js';
import { COUNT, mismatch } from '../core/validate.js';
import type { FromContext, Window } from './rule.js';
import { FROM_CONTEXT } from './validators.js';
import { EXPECTED_WINDOW, toWindowMs } from './window.js';

// values of a configuration: strings, or missing

const DIGITS = /^\d+$/;
const COUNT_OR_DIGITS = { ...COUNT, expected: `${COUNT.expected}, as a number or a string of digits` };

/**
 * Checks a window from a configuration, such as `parseWindow(process.env.LOGIN_WINDOW ?? '15m')`, and returns it with its
 * type. For a whole rule use `defineRule`.
 * @param value a string with a unit such as `'15m'`, or a number of seconds
 * @param name what the error calls the value, such as `'LOGIN_WINDOW'`; default: `value`
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_RULE` if it is not a window; the message says what to write
 */
export function parseWindow(value: unknown, name = 'value'): Window {
  try {
    return readWindow(value);
  } catch (error) {
    throw invalidRule(`parseWindow: ${name}: ${(error as Error).message}`);
  }
}

/**
 * Returns a window as it is.
 * @throws {TypeError | RangeError} if it is not a window
 */
export function readWindow(value: unknown): Window {
  rejectMissing(value, EXPECTED_WINDOW);
  toWindowMs(value);
  return value as Window;
}

/**
 * Returns a limit or a cost as a number, or a function as it is.
 * @throws {TypeError} if it is neither, nor a string of digits
 */
export function readCount(value: unknown): number | FromContext<number> {
  if (FROM_CONTEXT.test(value)) return value as FromContext<number>;
  rejectMissing(value, COUNT_OR_DIGITS.expected);
  const count = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
  if (COUNT.test(count)) return count;
  throw new TypeError(mismatch(value, COUNT_OR_DIGITS));
}

/** A variable that is not set is `undefined`, or an empty string in a file. */
function rejectMissing(value: unknown, expected: string): void {
  if (value === undefined)
    throw new TypeError(`is missing; is an environment variable not set? Expected ${expected}`);
  if (typeof value === 'string' && value.trim() === '')
    throw new TypeError(`is empty; is an environment variable empty? Expected ${expected}`);
}
