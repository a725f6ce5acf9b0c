import { HttpException } from '@nestjs/common';
import type { Verdict } from '../core/verdict.js';
import { type Denial, denialBody, type ErrorFormat } from './error-body.js';
import { retryAfterSeconds } from './headers.js';

const BRAND = Symbol.for('nestjs-freq-limit:exceeded');

/** Whatever is thrown for a denied visit: what its transport wants, with the verdict in it. */
export interface ExceededError extends Error {
  /** The answer of the store, a result for each rule. */
  readonly verdict: Verdict;
}

/** What a denial tells its caller, where nothing else is declared. */
export function denialOf(verdict: Verdict): Denial {
  const retryAfter = retryAfterSeconds(verdict);
  const denying = verdict.results.filter(({ allowed, shadow }) => !allowed && shadow !== true);
  return {
    statusCode: 429,
    message: `Too many requests, try again in ${retryAfter} s`,
    retryAfter,
    rules: denying.map(({ name }) => name),
  };
}

/**
 * A visit was denied: 429 Too Many Requests (RFC 6585, 4), or the rule's own status.
 *
 * Its body is `{ statusCode: 429, error: 'Too Many Requests', message: 'Too many requests, try again in 8 s', retryAfter: 8 }`;
 * `retryAfter` is in whole seconds, the same as in the header. With `errorFormat: 'problem'` it is problem details
 * (RFC 9457).
 */
export class FreqLimitExceededException extends HttpException implements ExceededError {
  readonly [BRAND] = true;

  constructor(
    readonly verdict: Verdict,
    denial: Denial = denialOf(verdict),
    format: ErrorFormat = 'nest',
  ) {
    super(denialBody(denial, format), denial.statusCode);
    // Nest reads it from the body's `message`, which problem details do not have
    this.message = denial.message;
  }
}

/** Whether an error is a denial, on whatever transport, also when the library is loaded twice. */
export function isFreqLimitExceeded(error: unknown): error is ExceededError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

/**
 * Makes an error of another transport, or of the application, known as the denial that it tells of.
 * @returns the error; where it tells of another denial already, one of this denial's own behind which it stands
 */
export function markExceeded<E extends Error>(error: E, verdict: Verdict): E {
  const own = isFreqLimitExceeded(error) ? (Object.create(error) as E) : error;
  // one that cannot be written to goes on as it is
  Reflect.set(own, BRAND, true);
  Reflect.set(own, 'verdict', verdict);
  return own;
}
