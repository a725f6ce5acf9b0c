import type { ExecutionContext, HttpException } from '@nestjs/common';
import type { ContextAdapter } from '../contexts/context-adapter.js';
import { formatError } from '../core/errors.js';
import { attempt, isPromise, type MaybePromise } from '../core/maybe-promise.js';
import { nestLogPerSecond } from '../nest/log.js';

type ToError = NonNullable<ContextAdapter['toError']>;

const INSTEAD = 'the HTTP exception is thrown instead';

/** Calls `toError` of context adapters. If it makes nothing, the log says so and the result is the HTTP exception. */
export class AdapterErrors {
  private readonly log = nestLogPerSecond();

  /** @param type the adapter's kind of context, for the log */
  of(
    exception: HttpException,
    context: ExecutionContext,
    type: string,
    toError: ToError,
  ): MaybePromise<Error> {
    const error = attempt(() => {
      const made: MaybePromise<unknown> = toError(exception, context);
      // `then` of a thenable may be a getter, which may throw too
      return isPromise(made) ? Promise.resolve(made) : made;
    });
    const orException = (made: unknown): Error => {
      // anything else is thrown, also if it is not an error: a transport may need a string
      if (made !== undefined && made !== null) return made as Error;
      this.logFailure(type, `returned ${String(made)}; ${INSTEAD}`);
      return exception;
    };
    if (!isPromise(error)) return orException(error);
    return error.then(orException, (reason: unknown) => {
      this.logFailure(type, `failed; ${INSTEAD}: ${formatError(reason)}`);
      return exception;
    });
  }

  private logFailure(type: string, problem: string): void {
    const place = `contextAdapters.${type}.toError`;
    this.log.error('FREQ_LIMIT_ADAPTER_FAILED', place, `${place} ${problem}`);
  }
}
