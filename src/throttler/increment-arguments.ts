import { invalidCheck } from '../core/errors.js';
import { NOT_EMPTY, OptionReader, type Validator } from '../core/validate.js';

/** The numbers that the throttler passes to `increment`, checked and rounded. */
export interface IncrementArguments {
  readonly windowMs: number;
  /** Requests that pass in a window; `undefined` for any number. */
  readonly limit: number | undefined;
  /** How long a client is blocked after its limit; `undefined` for the rest of its window. */
  readonly blockMs: number | undefined;
}

/** The name of a throttler, and the key of a client. */
export type Key = readonly [throttlerName: string, key: string];

const MAX = Number.MAX_SAFE_INTEGER;
const A_NUMBER: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && !Number.isNaN(value),
  expected: 'a number',
};
const A_DURATION: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && value > 0 && value <= MAX,
  expected: 'a number of milliseconds above 0 and at most 2^53 - 1',
};
const reader = new OptionReader('FreqLimitThrottlerStorage', invalidCheck);

/**
 * Checks and rounds the numbers: milliseconds up, the limit down. A limit below 0 becomes 0. Numbers in strings, as
 * environment variables have, count as numbers: from version 6.7.1 the throttler converts them itself.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` if one is not a number, or not a valid duration
 */
export function readIncrementArguments(
  ttl: unknown,
  limit: unknown,
  blockDuration: unknown,
): IncrementArguments {
  const requests = Math.max(0, Math.floor(reader.required('limit', toNumber(limit), A_NUMBER)));
  const block = reader.required('blockDuration', toNumber(blockDuration), A_NUMBER);
  return {
    windowMs: Math.ceil(reader.required('ttl', toNumber(ttl), A_DURATION)),
    limit: requests <= MAX ? requests : undefined,
    blockMs: block > 0 ? Math.ceil(reader.required('blockDuration', block, A_DURATION)) : undefined,
  };
}

/** The number that a string contains; any other value as it is, so that the error shows it. */
function toNumber(value: unknown): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}

/**
 * Checks what the throttler counts by.
 * @throws {FreqLimitError} `FREQ_LIMIT_INVALID_CHECK` if one is not a string, or empty
 */
export function readKey(throttlerName: unknown, key: unknown): Key {
  return [reader.required('throttlerName', throttlerName, NOT_EMPTY), reader.required('key', key, NOT_EMPTY)];
}

/** A number of milliseconds as checks have it. */
export function ms(duration: number): `${number}ms` {
  return `${duration}ms`;
}
