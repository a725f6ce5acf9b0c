import { HttpException, HttpStatus } from '@nestjs/common';
import type { Verdict } from './core/verdict.js';
import { retryAfterSeconds } from './http/headers.js';

const BRAND = Symbol.for('nestjs-freq-limit:exceeded');

/**
 * A visit was denied: 429 Too Many Requests (RFC 6585, 4).
 *
 * Its body is `{ statusCode: 429, error: 'Too Many Requests', message: 'Too many requests, try again in 8 s', retryAfter: 8 }`;
 * `retryAfter` is in whole seconds, the same as in the header.
 */
export class FreqLimitExceededException extends HttpException {
  readonly [BRAND] = true;

  constructor(
    /** The answer of the store, a result for each rule. */
    readonly verdict: Verdict,
  ) {
    const retryAfter = retryAfterSeconds(verdict);
    const statusCode = HttpStatus.TOO_MANY_REQUESTS;
    const message = `Too many requests, try again in ${retryAfter} s`;
    super({ statusCode, error: 'Too Many Requests', message, retryAfter }, statusCode);
  }
}

/** Whether an error is a denial, also when the library is loaded twice. */
export function isFreqLimitExceeded(error: unknown): error is FreqLimitExceededException {
  return typeof error === 'object' && error !== null && BRAND in error;
}
