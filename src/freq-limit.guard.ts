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
import { isFreqLimitError, showError } from './core/errors.js';
import { isPromise, type MaybePromise, then } from './core/maybe-promise.js';
import { toVerdict, type Verdict } from './core/verdict.js';
import { FreqLimitExceededException } from './freq-limit.exception.js';
import {
  FREQ_LIMIT_GUARD,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './freq-limit.tokens.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './freq-limit.plans.js';
import { type Header, headersFor } from './http/headers.js';
import { HttpVisit } from './http/http-visit.js';
import type { Plan } from './rules/plan.js';
import { evaluate, type MissingKey, resolve } from './rules/resolve.js';
import type { Check } from './core/check.js';
import type { Store } from './store/store.js';

// The guard may be reached several times for one invocation of a handler: globally, on the class, on the method, by a
// subclass. Nest makes one context for all of them, which keeps the outcome, a denial too.
const DECIDED = Symbol.for('nestjs-freq-limit:decided');

interface Decided {
  [DECIDED]?: boolean | Promise<boolean> | undefined;
}

const TRY_AGAIN: readonly Header[] = [['Retry-After', '1']];
const MODULE = { place: 'FreqLimitModule' };

/**
 * Stands before a handler: asks the store, once, for all the rules that apply, sets the headers, and lets the visit
 * pass or throws `FreqLimitExceededException`.
 */
@Injectable()
export class FreqLimitGuard implements CanActivate {
  /** @internal */
  static readonly [FREQ_LIMIT_GUARD] = true;
  private readonly logger = new Logger('FreqLimit');
  private hasWarned = false;

  constructor(
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const decided = context as Decided;
    return (decided[DECIDED] ??= this.decide(context));
  }

  private decide(context: ExecutionContext): boolean | Promise<boolean> {
    try {
      const plan = this.plans.of(context.getClass(), context.getHandler());
      if (plan === undefined) return true;
      const passes = this.unlessSkipped(plan, context);
      if (!isPromise(passes)) return passes;
      return Promise.resolve(passes).catch((error: unknown) => {
        throw this.toException(error, context);
      });
    } catch (error) {
      return Promise.reject(this.toException(error, context));
    }
  }

  private unlessSkipped(plan: Plan, context: ExecutionContext): MaybePromise<boolean> {
    const { skipIf } = this.options;
    if (skipIf === undefined) return this.resolve(plan, context);
    return then(
      evaluate(MODULE, 'skipIf', skipIf, context),
      (skip) => skip === true || this.resolve(plan, context),
    );
  }

  private resolve(plan: Plan, context: ExecutionContext): MaybePromise<boolean> {
    const visit = HttpVisit.of(context, this.options.ipv6Subnet, this.warnOfNoAddress);
    if (this.options.isExempt?.(visit.addressText, visit.request?.['headers']) === true) return true;
    return then(resolve(plan, visit, context), (checks) => this.ask(checks, context));
  }

  private ask(checks: Check[] | MissingKey, context: ExecutionContext): MaybePromise<boolean> {
    if (!Array.isArray(checks)) throw missingKey(checks);
    if (checks.length === 0) return true;
    return then(this.store.consume(checks), (results) => this.answer(toVerdict(results), context));
  }

  private answer(verdict: Verdict, context: ExecutionContext): boolean {
    this.setHeaders(headersFor(verdict, this.options.headers), context);
    if (!verdict.allowed) throw new FreqLimitExceededException(verdict);
    return true;
  }

  private setHeaders(headers: readonly Header[], context: ExecutionContext): void {
    if (context.getType() !== 'http') return;
    const adapter = this.http.httpAdapter;
    const response: unknown = context.getArgByIndex(1);
    if (adapter.isHeadersSent(response)) return;
    for (const [name, value] of headers) adapter.setHeader(response, name, value);
  }

  /** What keeps the guard from deciding is never a pass. What is not a denial is one line in the log. */
  private toException(error: unknown, context: ExecutionContext): HttpException {
    if (error instanceof HttpException) return error;
    if (isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED') {
      // the store has told the log, and is tried again every second
      if (this.options.headers !== 'none') this.setHeaders(TRY_AGAIN, context);
      return new ServiceUnavailableException('The request limit cannot be checked at the moment', {
        cause: error,
      });
    }
    const stack = error instanceof Error ? error.stack : undefined;
    this.logger.error(isFreqLimitError(error) ? error.message : showError(error), stack);
    return new InternalServerErrorException('Internal Server Error', { cause: error });
  }

  private readonly warnOfNoAddress = (): void => {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.logger.warn(
      'A request came without an address, as over a unix socket: all such callers share one counter. ' +
        "Let Express's trust proxy or Fastify's trustProxy name the proxy in front.",
    );
  };
}

function missingKey({ missingKey: rule }: MissingKey): BadRequestException {
  const wanted = rule.key.paths.map((path) => path.replace('.', ' ')).join(', ');
  return new BadRequestException(`The request lacks what its limit counts by${wanted && `: ${wanted}`}`);
}
