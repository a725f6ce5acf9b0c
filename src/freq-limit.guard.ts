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
import { RequestLeases } from './leases/request-leases.js';
import { checkGuard } from './nest/made-by-nest.js';
import type { FreqLimitPlans } from './plans/plans.js';
import { RequestDebugLog } from './rules/debug-log.js';
import { evaluate } from './rules/evaluate.js';
import { withShares } from './rules/max-share.js';
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
  private readonly leases: RequestLeases;
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
    this.leases = new RequestLeases(store, events.shadowFailed);
  }

  /**
   * Decides about one call of a handler. If several guards of the handler call it with the same context, it counts once and
   * returns the same result. A context that you create yourself counts each time.
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return decideOnce(this, context, this.config, this.decide);
  }

  /**
   * Four steps: find the plan, resolve the checks unless the request is skipped, consume, conclude. If one of them fails, the
   * request is denied. A denial is the error that the transport needs.
   */
  private readonly decide = (context: ExecutionContext): boolean | Promise<boolean> => {
    const adapter = this.adapters.of(context);
    try {
      const plan = this.planOf(context, adapter);
      if (plan === undefined) return true;
      const call = { context, adapter, plan };
      const checks = this.checksOf(call);
      if (!isPromise(checks)) return this.consume(checks, call);
      return Promise.resolve(checks).then(
        (resolved) => this.consume(resolved, call),
        (error: unknown) => this.fail(error, call),
      );
    } catch (error) {
      return this.fail(error, { context, adapter });
    }
  };

  /** The checks of a request, or the rule whose key is missing; `undefined` if the request is skipped. */
  private checksOf(call: GuardedCall): MaybePromise<PlannedCheck[] | MissingKey | undefined> {
    const { skipIf } = this.options;
    if (skipIf === undefined) return this.resolve(call);
    return andThen(evaluate(MODULE, 'skipIf', skipIf, call.context), (skip) =>
      skip === true ? undefined : this.resolve(call),
    );
  }

  private resolve({
    context,
    adapter,
    plan,
  }: GuardedCall): MaybePromise<PlannedCheck[] | MissingKey | undefined> {
    const request = new ContextRequest(adapter, context, this.options.ipv6Subnet, this.addressWarnings);
    if (this.options.isSkipped?.(request) === true) return undefined;
    return toChecks(plan, request, context, this.events.shadowFailed);
  }

  private consume(
    resolved: PlannedCheck[] | MissingKey | undefined,
    call: GuardedCall,
  ): boolean | Promise<boolean> {
    if (resolved === undefined) return true;
    if (!call.plan.hasLeases || !Array.isArray(resolved)) return this.charge(resolved, call);
    try {
      const checks = this.leases.prepare(resolved, call);
      if (!isPromise(checks)) return this.charge(checks, call);
      return Promise.resolve(checks).then(
        (prepared) => this.charge(prepared, call),
        (error: unknown) => this.fail(error, call),
      );
    } catch (error) {
      return this.fail(error, call);
    }
  }

  private charge(checks: PlannedCheck[] | MissingKey, call: GuardedCall): boolean | Promise<boolean> {
    const { context, adapter, plan } = call;
    try {
      this.debugLog?.checks(context, checks);
      if (!Array.isArray(checks)) return deny(this.exceptions.ofMissingKey(checks, context, adapter));
      if (checks.length === 0) return true;
      const results = this.store.consume(checks, plan.settles);
      if (!isPromise(results)) return this.finish(checks, results, call);
      const answered = Promise.resolve(results);
      const decided = answered.then(
        (known) => this.finish(checks, known, call),
        (error: unknown) => this.fail(error, call),
      );
      if (plan.hasLeases) this.leases.noteTaking(checks, call, answered);
      return decided;
    } catch (error) {
      return this.fail(error, call);
    }
  }

  private finish(
    checks: readonly PlannedCheck[],
    results: readonly CheckResult[],
    call: GuardedCall,
  ): boolean | Promise<boolean> {
    try {
      if (call.plan.hasLeases) this.leases.hold(checks, results, call);
      const verdict = this.conclude(checks, results, call);
      return verdict.allowed
        ? true
        : deny(this.exceptions.ofDenied(verdict, checks, call.context, call.adapter));
    } catch (error) {
      return this.fail(error, call);
    }
  }

  private fail(error: unknown, { context, adapter }: Omit<GuardedCall, 'plan'>): Promise<never> {
    return deny(this.exceptions.ofFailed(error, context, adapter));
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
    const verdict = toVerdict(resultsOf(plan, checks, results));
    this.debugLog?.verdict(context, checks, verdict);
    this.showHeaders(verdict, checks, call);
    this.events.report(verdict, context);
    if (plan.hasShadows) this.events.reportShadows(verdict, context);
    if (verdict.allowed && plan.keepsDecision) {
      this.decisions.save({ ...call, verdict, checks, results }, (after) => {
        this.showHeaders(toVerdict(resultsOf(plan, checks, after)), checks, call);
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

/** The results of the rules, from those of the store. */
function resultsOf(
  { hasShadows, hasShares }: Plan,
  checks: readonly PlannedCheck[],
  results: readonly CheckResult[],
): readonly CheckResult[] {
  const shown = hasShadows ? withShadows(checks, results) : results;
  return hasShares ? withShares(checks, shown) : shown;
}

/** Rejects with the error, whatever it is: an adapter of the application may make a string. */
async function deny(denial: MaybePromise<Error>): Promise<never> {
  throw await denial;
}
