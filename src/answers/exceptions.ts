import {
  BadRequestException,
  type ExecutionContext,
  HttpException,
  HttpStatus,
  InternalServerErrorException,
  ServiceUnavailableException,
} from '@nestjs/common';
import type { ContextAdapter } from '../contexts/context-adapter.js';
import { isFreqLimitError, oneLine, formatError } from '../core/errors.js';
import { framesOf } from '../core/stack-frames.js';
import { attempt, isPromise, type MaybePromise } from '../core/maybe-promise.js';
import type { Verdict } from '../core/verdict.js';
import type { ResponseHeaders } from './response-headers.js';
import { Denials } from './denials.js';
import { markExceeded } from './freq-limit.exception.js';
import { LimitedLogger } from '../freq-limit.limited-logger.js';
import type { ResolvedOptions } from '../freq-limit.options.js';
import { isProblem, PROBLEM_CONTENT_TYPE, errorBody } from './error-body.js';
import type { Header } from './headers.js';
import { sendAsProblem } from './problem-response.js';
import { type MissingKey, type PlannedCheck, RuleError } from '../rules/to-checks.js';

const PROBLEM: readonly Header[] = [['Content-Type', PROBLEM_CONTENT_TYPE]];
/** For messages of this library: a place, a rule, and what went wrong there. */
const MAX_MESSAGE = 512;
const TRY_AGAIN: readonly Header[] = [['Retry-After', '1']];

/** Makes what the guard throws, as each visit's transport wants it. */
export class Exceptions {
  private readonly logger = new LimitedLogger();
  private readonly denials: Denials;

  constructor(
    private readonly options: ResolvedOptions,
    private readonly headers: ResponseHeaders,
  ) {
    this.denials = new Denials(options);
  }

  /** For a visit that a rule denies. */
  async ofDenied(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): Promise<Error> {
    const exception = await this.denials.of(verdict, checks, context);
    const error = await this.translated(exception, context, adapter);
    return error === exception ? error : markExceeded(error, verdict);
  }

  /** For a visit that cannot be decided, by what keeps the guard from it. */
  ofFailed(error: unknown, context: ExecutionContext, adapter: ContextAdapter): MaybePromise<Error> {
    return this.translated(this.toException(error, context, adapter), context, adapter);
  }

  /** For a request without a value that its rule needs, if the rule denies such requests, and for a value that is too long. */
  ofMissingKey({ missingKey: rule, isTooLong }: MissingKey): HttpException {
    const wanted = rule.key.paths.map((path) => path.replace('.', ' ')).join(', ');
    const problem = isTooLong
      ? 'A value of the request is too long'
      : 'The request lacks what its limit counts by';
    const message = `${problem}${wanted && `: ${wanted}`}`;
    return this.refusal(BadRequestException, HttpStatus.BAD_REQUEST, message);
  }

  /** What the visit's transport wants for an exception of ours; what the application has made is left as it is. */
  private translated(
    exception: Error,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): MaybePromise<Error> {
    if (!(exception instanceof HttpException)) return exception;
    const { toError } = adapter;
    if (toError === undefined) return this.overHttp(exception, adapter.response?.(context));
    const made = attempt(() => toError(exception, context));
    if (!isPromise(made)) return made;
    return Promise.resolve(made).then(undefined, (error: unknown) => {
      const place = `contextAdapters.${context.getType<string>()}.toError`;
      this.logger.error(place, `${place} failed, and what it was given is thrown: ${formatError(error)}`);
      return exception;
    });
  }

  private overHttp(exception: HttpException, response: unknown): HttpException {
    const body: unknown = exception.getResponse();
    if (isProblem(body) && !sendAsProblem(response, body)) this.headers.set(PROBLEM, response);
    return exception;
  }

  /** What is not a denial is one line in the log. */
  private toException(error: unknown, context: ExecutionContext, adapter: ContextAdapter): HttpException {
    if (error instanceof HttpException) return error;
    if (isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED') {
      // the store has told the log, and is tried again every second
      if (this.options.headers !== 'none') this.headers.set(TRY_AGAIN, adapter.response?.(context));
      const message = 'The request limit cannot be checked at the moment';
      return this.refusal(ServiceUnavailableException, HttpStatus.SERVICE_UNAVAILABLE, message, error);
    }
    const { cause = error } = Object(error) as { readonly cause?: unknown };
    const message = isFreqLimitError(error) ? oneLine(error.message, MAX_MESSAGE) : formatError(error);
    this.logger.error(failureKind(error), message, framesOf(cause));
    return new InternalServerErrorException('Internal Server Error', { cause: error });
  }

  private refusal(
    Exception: typeof BadRequestException | typeof ServiceUnavailableException,
    status: HttpStatus,
    message: string,
    cause?: unknown,
  ): HttpException {
    const exception = new Exception(errorBody(status, message, this.options.errorFormat), { cause });
    // Nest reads it from the body's `message`, which problem details do not have
    exception.message = message;
    return exception;
  }
}

/** Which failures share one log line a second: those of one rule, or of one error class. */
function failureKind(error: unknown): string {
  if (error instanceof RuleError) return error.rule;
  const { constructor } = Object(error) as { readonly constructor?: { readonly name?: string } };
  return constructor?.name ?? '';
}
