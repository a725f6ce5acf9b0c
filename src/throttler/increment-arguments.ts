import { invalidCheck } from '../core/errors.js';
import { type Validator, OptionReader } from '../core/validate.js';

/** What the throttler asks for, in numbers that counters take. */
export interface IncrementArguments {
  readonly windowMs: number;
  /** Visits that pass in a window; `undefined` where any number does. */
  readonly limit: number | undefined;
  /** How long a caller who was over the limit is refused; `undefined` where only until his window ends. */
  readonly blockMs: number | undefined;
}

/** A throttler's name, and whom it counts by. */
export type Key = readonly [throttlerName: string, key: string];

const MAX = Number.MAX_SAFE_INTEGER;
const A_NUMBER: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && !Number.isNaN(value),
  expected: 'a number',
};
const A_LENGTH: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && value > 0 && value <= MAX,
  expected: 'a number of milliseconds above 0 and at most 2^53 - 1',
};
const A_TEXT: Validator<string> = {
  test: (value): value is string => typeof value === 'string' && value !== '',
  expected: 'a text of at least one character',
};
const reader = new OptionReader('FreqLimitThrottlerStorage', invalidCheck);

/**
 * Reads the throttler's numbers. Parts of a millisecond are rounded up, parts of a limit down; a limit below 0 is 0.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` for a length of time that is none, and for what is no number
 */
export function readIncrementArguments(
  ttl: unknown,
  limit: unknown,
  blockDuration: unknown,
): IncrementArguments {
  const visits = Math.max(0, Math.floor(reader.required('limit', limit, A_NUMBER)));
  const isBlocking = reader.required('blockDuration', blockDuration, A_NUMBER) > 0;
  return {
    windowMs: Math.ceil(reader.required('ttl', ttl, A_LENGTH)),
    limit: visits <= MAX ? visits : undefined,
    blockMs: isBlocking ? Math.ceil(reader.required('blockDuration', blockDuration, A_LENGTH)) : undefined,
  };
}

/**
 * Reads whom the throttler counts by.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` for what is no text, and for none at all
 */
export function readKey(throttlerName: unknown, key: unknown): Key {
  return [reader.required('throttlerName', throttlerName, A_TEXT), reader.required('key', key, A_TEXT)];
}
