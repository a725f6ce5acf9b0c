import {
  BadRequestException,
  type ExecutionContext,
  HttpException,
  HttpStatus,
  InternalServerErrorException,
  ServiceUnavailableException,
} from '@nestjs/common';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import { formatError, isFreqLimitError, oneLine } from '../core/errors.js';
import { framesOf } from '../core/stack-frames.js';
import { andThen, type MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import { nestLogPerSecond } from '../nest/log.js';
import { RuleError } from '../rules/evaluate.js';
import type { MissingKey, PlannedCheck } from '../rules/to-checks.js';
import { AdapterErrors } from './adapter-errors.js';
import type { AnswerOptions } from './answer-options.js';
import { type Denial, denialOf, tightestRule } from './denial.js';
import { DenialFunctions } from './denial-functions.js';
import {
  errorBody,
  isProblem,
  PROBLEM_CONTENT_TYPE,
  sendAsProblem,
  STORE_FAILED_MESSAGE,
} from './error-body.js';
import { FreqLimitExceededException, markExceeded } from './freq-limit.exception.js';
import type { Header } from './headers.js';
import type { ResponseHeaders } from './response-headers.js';

const PROBLEM: readonly Header[] = [['Content-Type', PROBLEM_CONTENT_TYPE]];
const RETRY_SOON: readonly Header[] = [['Retry-After', '1']];
/** For messages of this library: a place, a rule, and what went wrong there. */
const MAX_MESSAGE = 512;

/**
 * Makes the errors that the guard throws. A denied request takes four steps:
 *
 * 1. The *verdict* is what the limits say about the request (`core/verdict.ts`).
 * 2. The *denial* is what the client gets: status, message, seconds to wait, names of rules (`denial.ts`).
 * 3. The *exception* is the denial as an `HttpException` with a body (`freq-limit.exception.ts`, `error-body.ts`), or the
 *    result of the application's `exceptionFactory`.
 * 4. The *error* is what the transport of the request needs instead, such as a `WsException` (`toError` of the adapter).
 *    Over HTTP it is the exception.
 *
 * A missing key (400) or a failure (500, 503) has no denial and starts at step 3.
 */
export class Exceptions {
  private readonly log = nestLogPerSecond();
  private readonly functions = new DenialFunctions();
  private readonly adapterErrors = new AdapterErrors();

  constructor(
    private readonly options: AnswerOptions,
    private readonly headers: ResponseHeaders,
  ) {}

  /** For a request that a limit denies. */
  ofDenied(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
    adapter: ResolvedAdapter,
  ): MaybePromise<Error> {
    return andThen(this.toException(verdict, checks, context), (exception) =>
      andThen(this.toError(exception, context, adapter), (error) =>
        error === exception ? error : markExceeded(error, verdict),
      ),
    );
  }

  /** For a request without a value that its rule needs (`onMissingKey: 'deny'`), or with a value that is too long. */
  ofMissingKey(
    { rule, isTooLong }: MissingKey,
    context: ExecutionContext,
    adapter: ResolvedAdapter,
  ): MaybePromise<Error> {
    const problem = isTooLong ? 'Value too long' : 'Missing required value';
    const { paths } = rule.key;
    const message = paths.length === 0 ? problem : `${problem}: ${paths.join(', ')}`;
    const body = errorBody(HttpStatus.BAD_REQUEST, message, this.options.errorFormat);
    return this.toError(withMessage(new BadRequestException(body), message), context, adapter);
  }

  /** For a request that cannot be decided because of an error. */
  ofFailed(error: unknown, context: ExecutionContext, adapter: ResolvedAdapter): MaybePromise<Error> {
    return this.toError(this.failure(error, context, adapter), context, adapter);
  }

  /** Steps 2 and 3. */
  private toException(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
  ): MaybePromise<Error> {
    const { exceptionFactory } = this.options;
    if (exceptionFactory === undefined) return this.toDefaultException(verdict, checks, context);
    return andThen(this.functions.exception(exceptionFactory, verdict, context), (exception) =>
      exception === undefined
        ? this.toDefaultException(verdict, checks, context)
        : markExceeded(exception, verdict),
    );
  }

  private toDefaultException(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
  ): MaybePromise<FreqLimitExceededException> {
    return andThen(
      this.toDenial(verdict, checks, context),
      (denial) => new FreqLimitExceededException(verdict, denial, this.options.errorFormat),
    );
  }

  /** Step 2, with the message of the rule or of the module. */
  private toDenial(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
  ): MaybePromise<Denial> {
    const denial = denialOf(verdict, checks);
    const message = tightestRule(verdict, checks)?.message ?? this.options.message;
    if (message === undefined) return denial;
    if (typeof message === 'string') return { ...denial, message };
    return andThen(this.functions.message(message, verdict, context), (text) =>
      text === undefined ? denial : { ...denial, message: text },
    );
  }

  /** Step 4. An `exceptionFactory` may make something else than an HTTP exception: that is thrown as it is. */
  private toError(
    exception: Error,
    context: ExecutionContext,
    adapter: ResolvedAdapter,
  ): MaybePromise<Error> {
    if (!(exception instanceof HttpException)) return exception;
    const { toError } = adapter;
    if (toError === undefined) return this.overHttp(exception, adapter.response?.(context));
    return this.adapterErrors.of(exception, context, adapter.type, toError);
  }

  private overHttp(exception: HttpException, response: unknown): HttpException {
    const body: unknown = exception.getResponse();
    if (isProblem(body) && !sendAsProblem(response, body)) this.headers.set(PROBLEM, response);
    return exception;
  }

  private failure(error: unknown, context: ExecutionContext, adapter: ResolvedAdapter): HttpException {
    // an adapter of the application may throw its own
    if (error instanceof HttpException) return error;
    if (!isFreqLimitError(error) || error.code !== 'FREQ_LIMIT_STORE_FAILED') {
      this.logFailure(error);
      return new InternalServerErrorException('Internal Server Error', { cause: error });
    }
    // the store has its own log line, and is tried again every second
    if (this.options.headers !== 'none') this.headers.set(RETRY_SOON, adapter.response?.(context));
    const body = errorBody(HttpStatus.SERVICE_UNAVAILABLE, STORE_FAILED_MESSAGE, this.options.errorFormat);
    return withMessage(new ServiceUnavailableException(body, { cause: error }), STORE_FAILED_MESSAGE);
  }

  private logFailure(error: unknown): void {
    const { cause = error } = Object(error) as { readonly cause?: unknown };
    const isRule = isFreqLimitError(error) && error.code === 'FREQ_LIMIT_RULE_FAILED';
    const reason = isFreqLimitError(error) ? oneLine(error.message, MAX_MESSAGE) : formatError(error);
    this.log.error(
      isRule ? 'FREQ_LIMIT_RULE_FAILED' : 'FREQ_LIMIT_GUARD_FAILED',
      logKindOf(error),
      `The request got 500: ${reason}`,
      framesOf(cause),
    );
  }
}

/** Which failures share one log line a second: those of a rule, or those of an error class. */
function logKindOf(error: unknown): string {
  if (error instanceof RuleError) return error.rule;
  const { constructor } = Object(error) as { readonly constructor?: { readonly name?: string } };
  return constructor?.name ?? '';
}

/** Nest reads the message from `message` of the body, which problem details do not have. */
function withMessage<E extends HttpException>(exception: E, message: string): E {
  exception.message = message;
  return exception;
}
