import type { ExecutionContext } from '@nestjs/common';
import { formatForLog } from '../core/errors.js';
import { isClass } from '../core/is-class.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import type { DenialMessage } from '../rules/rule.js';
import type { ErrorFormat } from './error-body.js';
import type { HeadersOption } from './headers.js';

/** Makes the error that is thrown when a limit denies a request. May return a promise. */
export type ExceptionFactory = (verdict: Verdict, context: ExecutionContext) => MaybePromise<Error>;

/** The module's options that decide what clients get. */
export interface AnswerOptions {
  readonly headers: HeadersOption;
  readonly partitionKeys: boolean;
  readonly errorFormat: ErrorFormat;
  readonly message: DenialMessage | undefined;
  readonly exceptionFactory: ExceptionFactory | undefined;
}

/**
 * Reads the option `exceptionFactory`.
 * @throws {TypeError} if it is not a function, or a class, which cannot be called
 */
export function readExceptionFactory(given: unknown): ExceptionFactory {
  if (isClass(given)) {
    throw new TypeError(
      `${given.name} is a class; write a function that makes the exception, such as () => new ${given.name}()`,
    );
  }
  if (typeof given === 'function') return given as ExceptionFactory;
  throw new TypeError(`${formatForLog(given)} is not a function`);
}
