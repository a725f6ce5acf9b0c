import type { ExecutionContext } from '@nestjs/common';
import { formatError, formatForLog } from '../core/errors.js';
import { attempt, isPromise, type MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import { nestLogPerSecond } from '../nest/log.js';
import type { DenialMessage } from '../rules/rule.js';
import type { ExceptionFactory } from './answer-options.js';

type MessageFunction = Exclude<DenialMessage, string>;

/** Calls the application's functions for denials. If one fails, the log says so and the result is `undefined`. */
export class DenialFunctions {
  private readonly log = nestLogPerSecond();

  message(
    message: MessageFunction,
    verdict: Verdict,
    context: ExecutionContext,
  ): MaybePromise<string | undefined> {
    return this.call('message', () => message(verdict, context), isMessage);
  }

  exception(
    factory: ExceptionFactory,
    verdict: Verdict,
    context: ExecutionContext,
  ): MaybePromise<Error | undefined> {
    return this.call('exceptionFactory', () => factory(verdict, context), isError);
  }

  private call<T>(
    option: string,
    run: () => unknown,
    isValid: (value: unknown) => value is T,
  ): MaybePromise<T | undefined> {
    const check = (value: unknown): T | undefined => {
      if (isValid(value)) return value;
      this.logFailure(option, `returned ${formatForLog(value)}; the default is used instead`);
      return undefined;
    };
    const result = attempt(() => {
      const returned = run();
      // `then` of a thenable may be a getter, which may throw too
      return isPromise(returned) ? Promise.resolve(returned) : returned;
    });
    if (!isPromise(result)) return check(result);
    return result.then(check, (error: unknown) => {
      this.logFailure(option, `failed; the default is used instead: ${formatError(error)}`);
      return undefined;
    });
  }

  private logFailure(option: string, problem: string): void {
    this.log.error('FREQ_LIMIT_DENIAL_FUNCTION_FAILED', option, `The ${option} function ${problem}`);
  }
}

function isMessage(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** An error of another realm is not an instance of this realm's `Error`. */
function isError(value: unknown): value is Error {
  return typeof (Object(value) as Error).message === 'string';
}
