import {
  BadRequestException,
  type CanActivate,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  InternalServerErrorException,
  Logger,
  ServiceUnavailableException,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Adapters } from './contexts/adapters.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import { isFieldOfResult } from './contexts/graphql-context.js';
import { ContextVisit } from './contexts/visit.js';
import type { CheckResult } from './core/check.js';
import { isFreqLimitError, showError } from './core/errors.js';
import { attempt, isPromise, type MaybePromise, then } from './core/maybe-promise.js';
import { toVerdict, type Verdict } from './core/verdict.js';
import { LoggedAddressAdvice } from './freq-limit.address-advice.js';
import { AnswerHeaders } from './freq-limit.answer-headers.js';
import { Denials } from './freq-limit.denials.js';
import { markExceeded } from './freq-limit.exception.js';
import { keep, take } from './contexts/invocations.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './freq-limit.plans.js';
import type { Reporter } from './freq-limit.reporter.js';
import { type Response, Settlement } from './freq-limit.settlement.js';
import {
  FREQ_LIMIT_ADAPTERS,
  FREQ_LIMIT_GUARD,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_REPORTER,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './freq-limit.tokens.js';
import { isProblem, PROBLEM_CONTENT_TYPE, refusalBody } from './http/error-body.js';
import type { Header } from './http/headers.js';
import { onFinish } from './http/on-finish.js';
import { sendAsProblem } from './http/problem.js';
import type { Plan } from './rules/plan.js';
import { evaluate, type MissingKey, type PlannedCheck, resolve } from './rules/resolve.js';
import { withShadows } from './rules/shadow.js';
import type { Store } from './store/store.js';

// The guard may be reached several times for one invocation of a handler: globally, on the class, on the method, by a
// subclass. Nest makes one context for all of them, which keeps the outcome, a denial too.
const DECIDED = Symbol.for('nestjs-freq-limit:decided');

interface Decided {
  [DECIDED]?: boolean | Promise<boolean> | undefined;
}

/** One visit on its way through the guard. */
interface Asked {
  readonly context: ExecutionContext;
  readonly adapter: ContextAdapter;
  readonly plan: Plan;
}

/** What the store has answered to a visit's checks. */
interface Answered {
  readonly checks: readonly PlannedCheck[];
  readonly results: readonly CheckResult[];
}

const PROBLEM: readonly Header[] = [['Content-Type', PROBLEM_CONTENT_TYPE]];
const TRY_AGAIN: readonly Header[] = [['Retry-After', '1']];
const MODULE = { place: 'FreqLimitModule' };

/**
 * Stands before a handler: asks the store, once, for all the rules that apply, sets the headers, and lets the visit
 * pass or throws what its transport wants for a denial: `FreqLimitExceededException`, a `WsException`, an
 * `RpcException`, or an error with `extensions` for GraphQL.
 */
@Injectable()
export class FreqLimitGuard implements CanActivate {
  /** @internal */
  static readonly [FREQ_LIMIT_GUARD] = true;
  private readonly logger = new Logger('FreqLimit');
  private readonly advice = new LoggedAddressAdvice();
  private readonly headers: AnswerHeaders;
  private readonly denials: Denials;
  private readonly settlement: Settlement;

  constructor(
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(FREQ_LIMIT_ADAPTERS) private readonly adapters: Adapters,
    @Inject(FREQ_LIMIT_REPORTER) private readonly reporter: Reporter,
    @Inject(HttpAdapterHost) http: HttpAdapterHost,
  ) {
    this.headers = new AnswerHeaders(http, options);
    this.denials = new Denials(options);
    this.settlement = new Settlement(store);
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const decided = context as Decided;
    return (decided[DECIDED] ??= this.decide(context));
  }

  private decide(context: ExecutionContext): boolean | Promise<boolean> {
    const adapter = this.adapters.of(context.getType<string>());
    let asked: Asked;
    let answered: MaybePromise<Answered | undefined>;
    try {
      const plan = this.planOf(context);
      if (plan === undefined) return true;
      asked = { context, adapter, plan };
      answered = this.unlessSkipped(asked);
    } catch (error) {
      return this.fail(error, context, adapter);
    }
    if (!isPromise(answered)) return this.conclude(answered, asked);
    return Promise.resolve(answered).then(
      (known) => this.conclude(known, asked),
      (error: unknown) => this.fail(error, context, adapter),
    );
  }

  private planOf(context: ExecutionContext): Plan | undefined {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    return isField(context) ? plan?.own : plan;
  }

  private unlessSkipped(asked: Asked): MaybePromise<Answered | undefined> {
    const { skipIf } = this.options;
    if (skipIf === undefined) return this.resolve(asked);
    return then(evaluate(MODULE, 'skipIf', skipIf, asked.context), (skip) =>
      skip === true ? undefined : this.resolve(asked),
    );
  }

  private resolve({ context, adapter, plan }: Asked): MaybePromise<Answered | undefined> {
    const visit = new ContextVisit(adapter, context, this.options.ipv6Subnet, this.advice);
    if (this.options.isSkipped?.(visit.trustedAddress, visit.request?.headers) === true) return undefined;
    return then(resolve(plan, visit, context, this.reporter.shadowFailed), (checks) =>
      this.ask(checks, plan),
    );
  }

  private ask(checks: PlannedCheck[] | MissingKey, plan: Plan): MaybePromise<Answered | undefined> {
    if (!Array.isArray(checks)) throw this.missingKey(checks);
    if (checks.length === 0) return undefined;
    return then(this.store.consume(checks, plan.settles), (results) => ({ checks, results }));
  }

  private conclude(answered: Answered | undefined, asked: Asked): boolean | Promise<boolean> {
    if (answered === undefined) return true;
    const { checks, results } = answered;
    const { context, plan } = asked;
    const verdict = toVerdict(plan.hasShadows ? withShadows(checks, results) : results);
    // what those who are told of it do with it changes nothing
    const { allowed } = verdict;
    this.show(verdict, checks, asked);
    this.reporter.report(verdict, context);
    if (plan.hasShadows) this.reporter.reportShadows(verdict, context);
    if (!allowed) return this.deny(verdict, checks, asked);
    if (plan.isKept) this.keep(verdict, answered, asked);
    return true;
  }

  /** Sets the headers, but for those of a redirection, as the draft wants it. */
  private show(verdict: Verdict, checks: readonly PlannedCheck[], { context, adapter, plan }: Asked): void {
    if (!plan.redirects || !verdict.allowed) this.headers.show(verdict, checks, context, adapter);
  }

  private async deny(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    { context, adapter }: Asked,
  ): Promise<never> {
    const exception = await this.denials.of(verdict, checks, context);
    const error = await this.translated(exception, context, adapter);
    throw error === exception ? error : markExceeded(error, verdict);
  }

  /** Lets those who come after it know what was decided, and gives back what should not have counted. */
  private keep(verdict: Verdict, { checks, results }: Answered, asked: Asked): void {
    const { context, adapter, plan } = asked;
    if (!plan.settles) {
      keep(context, { verdict, settle: undefined });
      return;
    }
    const response = adapter.response?.(context) as Response | undefined;
    keep(context, {
      verdict,
      settle: async (end) => {
        const after = await this.settlement.settle({ checks, results, context, response }, end);
        if (after !== undefined) this.show(toVerdict(after), checks, asked);
      },
    });
    // before fields of results there may be guards and no interceptors: then nobody comes to know how they end
    if (isField(context)) return;
    // where a guard behind this one refuses, nobody else comes to know it; only HTTP's status tells how that ended
    onFinish(response, () => {
      void take(context)?.settle?.({ succeeded: context.getType() === 'http', error: undefined });
    });
  }

  /** What keeps the guard from deciding is never a pass. */
  private async fail(error: unknown, context: ExecutionContext, adapter: ContextAdapter): Promise<never> {
    throw await this.translated(this.toException(error, context, adapter), context, adapter);
  }

  /** What the visit's transport wants for an exception of ours; what the application has made is left as it is. */
  private translated(
    exception: Error,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): MaybePromise<Error> {
    if (!(exception instanceof HttpException)) return exception;
    const { toError } = adapter;
    if (toError !== undefined) {
      const made = attempt(() => toError(exception, context));
      if (!isPromise(made)) return made;
      return made.then(undefined, (error: unknown) => {
        const place = `contextAdapters.${context.getType<string>()}.toError`;
        this.logger.error(`${place} failed, and what it was given is thrown: ${showError(error)}`);
        return exception;
      });
    }
    const body: unknown = exception.getResponse();
    if (this.options.errorFormat === 'problem' && isProblem(body)) {
      const response = adapter.response?.(context);
      if (!sendAsProblem(response, body)) this.headers.set(PROBLEM, response);
    }
    return exception;
  }

  /** What is not a denial is one line in the log. */
  private toException(error: unknown, context: ExecutionContext, adapter: ContextAdapter): HttpException {
    if (error instanceof HttpException) return error;
    if (isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED') {
      // the store has told the log, and is tried again every second
      if (this.options.headers !== 'none') this.headers.set(TRY_AGAIN, adapter.response?.(context));
      return this.refusal(
        ServiceUnavailableException,
        'The request limit cannot be checked at the moment',
        error,
      );
    }
    this.logger.error(isFreqLimitError(error) ? error.message : showError(error), framesOf(error));
    return new InternalServerErrorException('Internal Server Error', { cause: error });
  }

  private missingKey({ missingKey: rule }: MissingKey): HttpException {
    const wanted = rule.key.paths.map((path) => path.replace('.', ' ')).join(', ');
    return this.refusal(
      BadRequestException,
      `The request lacks what its limit counts by${wanted && `: ${wanted}`}`,
    );
  }

  private refusal(
    Exception: typeof BadRequestException | typeof ServiceUnavailableException,
    message: string,
    cause?: unknown,
  ): HttpException {
    const status = new Exception().getStatus();
    const exception = new Exception(refusalBody(status, message, this.options.errorFormat), { cause });
    exception.message = message;
    return exception;
  }
}

function isField(context: ExecutionContext): boolean {
  return context.getType<string>() === 'graphql' && isFieldOfResult(context);
}

/** Where an error comes from: the stack without its message, which may hold line breaks of a caller's making. */
function framesOf(error: unknown): string | undefined {
  const { cause = error } = Object(error) as { readonly cause?: unknown };
  const { stack } = Object(cause) as { readonly stack?: unknown };
  return typeof stack === 'string' ? stack.match(/^\s+at .+$/gm)?.join('\n') : undefined;
}
