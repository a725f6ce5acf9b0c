import { HttpException } from '@nestjs/common';
import type { Verdict } from '../core/verdict.js';
import { defaultDenial, type Denial } from './denial.js';
import { denialBody, type ErrorFormat } from './error-body.js';

const BRAND = Symbol.for('nestjs-freq-limit:exceeded');

/** The error that is thrown when a limit denies a request, on any transport. */
export interface ExceededError extends Error {
  /** What the limits said, with a result for each rule. */
  readonly verdict: Verdict;
}

/**
 * A limit denied the request: 429 Too Many Requests (RFC 6585, 4), or the `statusCode` of the rule.
 *
 * Its body is `{ statusCode: 429, error: 'Too Many Requests', message: 'Too many requests. Try again in 8 seconds.', retryAfter: 8 }`.
 * `retryAfter` is in whole seconds, like the header `Retry-After`. With `errorFormat: 'problem'` the body is problem
 * details (RFC 9457).
 */
export class FreqLimitExceededException extends HttpException implements ExceededError {
  declare readonly [BRAND]: true;

  constructor(
    readonly verdict: Verdict,
    denial: Denial = defaultDenial(verdict),
    format: ErrorFormat = 'nest',
  ) {
    super(denialBody(denial, format), denial.statusCode);
    // Nest reads it from `message` of the body, which problem details do not have
    this.message = denial.message;
  }

  static {
    // not a property of each exception, because it would be printed
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }
}

/** Whether an error means that a limit denied a request, on any transport. Also if the package is loaded twice. */
export function isFreqLimitExceeded(error: unknown): error is ExceededError {
  return typeof error === 'object' && error !== null && BRAND in error;
}

/**
 * Marks an error of another transport, or of the application, so that `isFreqLimitExceeded` knows it.
 * @returns the error; if it is marked with another verdict already, a new error that inherits from it
 */
export function markExceeded<E extends Error>(error: E, verdict: Verdict): E {
  // an adapter may make something other than an object, such as a string
  if (Object(error) !== error) return error;
  const own = isFreqLimitExceeded(error) ? (Object.create(error) as E) : error;
  // a frozen error stays unmarked
  Reflect.defineProperty(own, BRAND, { value: true, configurable: true });
  Reflect.set(own, 'verdict', verdict);
  return own;
}
