import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { Exceptions } from './answers/exceptions.js';
import { ResponseHeaders } from './answers/response-headers.js';
import type { Adapters, ResolvedAdapter } from './contexts/adapters.js';
import { ContextRequest } from './contexts/context-request.js';
import type { CheckResult } from './core/check.js';
import { andThen, isPromise, type MaybePromise } from './core/maybe-promise.js';
import type { Store } from './core/store.js';
import {
  FREQ_LIMIT_ADAPTERS,
  FREQ_LIMIT_EVENTS,
  FREQ_LIMIT_GUARD,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './core/tokens.js';
import { toVerdict, type Verdict } from './core/verdict.js';
import { DecisionSaver } from './decisions/decision-saver.js';
import type { VerdictEvents } from './decisions/events.js';
import { decideOnce } from './decisions/decide-once.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import { checkGuard } from './nest/made-by-nest.js';
import type { FreqLimitPlans } from './plans/plans.js';
import { RequestDebugLog } from './rules/debug-log.js';
import { evaluate } from './rules/evaluate.js';
import type { Plan } from './rules/plan.js';
import { withShadows } from './rules/shadow.js';
import { type MissingKey, type PlannedCheck, toChecks } from './rules/to-checks.js';
import { LoggedAddressWarnings } from './warnings/address-warnings.js';

const MODULE = { place: 'FreqLimitModule' };

/** One request of a limited handler, on its way through the guard. */
interface GuardedCall {
  readonly context: ExecutionContext;
  readonly adapter: ResolvedAdapter;
  readonly plan: Plan;
}

/**
 * Checks all limits of a handler before it runs, in one call of the store. Sets the headers, and throws the error that the
 * transport needs if the request is denied: `FreqLimitExceededException`, a `WsException`, an `RpcException`, or an error
 * with `extensions` for GraphQL.
 */
@Injectable()
export class FreqLimitGuard implements CanActivate {
  /** @internal */
  static readonly [FREQ_LIMIT_GUARD] = true;
  private readonly addressWarnings = new LoggedAddressWarnings();
  private readonly headers: ResponseHeaders;
  private readonly exceptions: Exceptions;
  private readonly decisions: DecisionSaver;
  private readonly debugLog = RequestDebugLog.ifEnabled();

  constructor(
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(FREQ_LIMIT_ADAPTERS) private readonly adapters: Adapters,
    @Inject(FREQ_LIMIT_EVENTS) private readonly events: VerdictEvents,
    @Inject(HttpAdapterHost) http: HttpAdapterHost,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {
    checkGuard(FreqLimitGuard, new.target, config);
    this.headers = new ResponseHeaders(http, options);
    this.exceptions = new Exceptions(options, this.headers);
    this.decisions = new DecisionSaver(store);
  }

  /**
   * Decides about one call of a handler. If several guards of the handler call it with the same context, it counts once and
   * returns the same result. A context that you create yourself counts each time.
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return decideOnce(this, context, this.config, this.decide);
  }

  /**
   * Lets a request pass, or denies it if it is over a limit or if it cannot be decided. The denial is the error that the
   * transport needs. It is thrown whatever it is: an adapter of the application may make a string.
   */
  private readonly decide = (context: ExecutionContext): boolean | Promise<boolean> => {
    const adapter = this.adapters.of(context);
    const fail = (error: unknown): MaybePromise<Error> => this.exceptions.ofFailed(error, context, adapter);
    let denial: MaybePromise<Error | undefined>;
    try {
      denial = this.denialOf(context, adapter);
    } catch (error) {
      denial = fail(error);
    }
    if (denial === undefined) return true;
    return isPromise(denial)
      ? Promise.resolve(denial).then(passUnlessDenied, (error: unknown) =>
          andThen(fail(error), passUnlessDenied),
        )
      : Promise.reject(denial);
  };

  /**
   * Five steps: find the plan, skip, resolve the checks, consume, conclude.
   * @returns the error of a denied request; `undefined` if it passes
   */
  private denialOf(context: ExecutionContext, adapter: ResolvedAdapter): MaybePromise<Error | undefined> {
    const plan = this.planOf(context, adapter);
    if (plan === undefined) return undefined;
    const call = { context, adapter, plan };
    const { skipIf } = this.options;
    if (skipIf === undefined) return this.check(call);
    return andThen(evaluate(MODULE, 'skipIf', skipIf, context), (skip) =>
      skip === true ? undefined : this.check(call),
    );
  }

  private check(call: GuardedCall): MaybePromise<Error | undefined> {
    const { context, adapter, plan } = call;
    const request = new ContextRequest(adapter, context, this.options.ipv6Subnet, this.addressWarnings);
    if (this.options.isSkipped?.(request) === true) return undefined;
    return andThen(toChecks(plan, request, context, this.events.shadowFailed), (checks) =>
      this.consume(checks, call),
    );
  }

  private consume(
    checks: readonly PlannedCheck[] | MissingKey,
    call: GuardedCall,
  ): MaybePromise<Error | undefined> {
    const { context, adapter, plan } = call;
    this.debugLog?.checks(context, checks);
    if (!isList(checks)) return this.exceptions.ofMissingKey(checks, context, adapter);
    if (checks.length === 0) return undefined;
    return andThen(this.store.consume(checks, plan.hasCountWhen), (results) => {
      const verdict = this.conclude(checks, results, call);
      return verdict.allowed ? undefined : this.exceptions.ofDenied(verdict, checks, context, adapter);
    });
  }

  private planOf(context: ExecutionContext, adapter: ResolvedAdapter): Plan | undefined {
    const plan = this.plans.of(context.getClass(), context.getHandler());
    return adapter.isFieldResolver(context) ? plan?.handlerOnly : plan;
  }

  /** Shows and reports the verdict, and saves it if the request passes. */
  private conclude(
    checks: readonly PlannedCheck[],
    results: readonly CheckResult[],
    call: GuardedCall,
  ): Verdict {
    const { context, plan } = call;
    const verdict = toVerdict(plan.hasShadows ? withShadows(checks, results) : results);
    this.debugLog?.verdict(context, checks, verdict);
    this.showHeaders(verdict, checks, call);
    this.events.report(verdict, context);
    if (plan.hasShadows) this.events.reportShadows(verdict, context);
    if (verdict.allowed && plan.keepsDecision) {
      this.decisions.save({ ...call, verdict, checks, results }, (after) => {
        this.showHeaders(after, checks, call);
      });
    }
    return verdict;
  }

  /** An allowed redirection shows no headers, as the RateLimit draft requires. */
  private showHeaders(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    { context, adapter, plan }: GuardedCall,
  ): void {
    if (!plan.redirects || !verdict.allowed) this.headers.show(verdict, checks, context, adapter);
  }
}

function passUnlessDenied(denial: Error | undefined): true {
  if (denial === undefined) return true;
  throw denial;
}

function isList(checks: readonly PlannedCheck[] | MissingKey): checks is readonly PlannedCheck[] {
  return Array.isArray(checks);
}
