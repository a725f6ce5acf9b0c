import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import type { Adapters } from './contexts/adapters.js';
import type { ContextAdapter } from './contexts/context-adapter.js';
import { isFieldResolver } from './contexts/graphql-context.js';
import { saveDecision, takeUnsettled } from './decisions/decisions.js';
import { ContextRequest } from './contexts/client-request.js';
import type { CheckResult } from './core/check.js';
import { isPromise, type MaybePromise, andThen } from './core/maybe-promise.js';
import { toVerdict, type Verdict } from './core/verdict.js';
import { LoggedAddressWarnings } from './warnings/address-warnings.js';
import { ResponseHeaders } from './answers/response-headers.js';
import { isOfNest, isOneCall } from './decisions/one-call.js';
import type { ResolvedOptions } from './freq-limit.options.js';
import type { FreqLimitPlans } from './plans/plans.js';
import { Exceptions } from './answers/exceptions.js';
import type { VerdictEvents } from './decisions/events.js';
import { KnownOutcomes } from './decisions/known-outcomes.js';
import { type StatusResponse, Settlement } from './decisions/settlement.js';
import {
  FREQ_LIMIT_ADAPTERS,
  FREQ_LIMIT_GUARD,
  FREQ_LIMIT_PLANS,
  FREQ_LIMIT_EVENTS,
  FREQ_LIMIT_RESOLVED_OPTIONS,
  FREQ_LIMIT_STORE,
} from './core/tokens.js';
import { onResponseEnd } from './decisions/response-end.js';
import type { Plan } from './rules/plan.js';
import { evaluate, type MissingKey, type PlannedCheck, resolve } from './rules/to-checks.js';
import { withShadows } from './rules/shadow.js';
import type { Store } from './core/store.js';

// The guard may run several times for one call of a handler: globally, on the class, on the method, as a subclass, from a
// guard of the application. Nest makes one context for all of them, which stores the outcome, also a denial.
const DECIDED = Symbol.for('nestjs-freq-limit:decided');
const ASKED = Symbol.for('nestjs-freq-limit:asked');

interface DecidedContext {
  [DECIDED]?: boolean | Promise<boolean> | undefined;
  /** The guard that has decided, and those that were called after it. */
  [ASKED]?: CanActivate | CanActivate[] | undefined;
}

/** One visit on its way through the guard. */
interface GuardedCall {
  readonly context: ExecutionContext;
  readonly adapter: ContextAdapter;
  readonly plan: Plan;
}

/** What the store has answered to a visit's checks. */
interface CountedRequest {
  readonly checks: readonly PlannedCheck[];
  readonly results: readonly CheckResult[];
}

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
  private readonly advice = new LoggedAddressWarnings();
  private readonly headers: ResponseHeaders;
  private readonly refusals: Exceptions;
  private readonly settlement: Settlement;
  private readonly outcomes = new KnownOutcomes();

  constructor(
    @Inject(FREQ_LIMIT_PLANS) private readonly plans: FreqLimitPlans,
    @Inject(FREQ_LIMIT_STORE) private readonly store: Store,
    @Inject(FREQ_LIMIT_RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(FREQ_LIMIT_ADAPTERS) private readonly adapters: Adapters,
    @Inject(FREQ_LIMIT_EVENTS) private readonly reporter: VerdictEvents,
    @Inject(HttpAdapterHost) http: HttpAdapterHost,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {
    this.headers = new ResponseHeaders(http, options);
    this.refusals = new Exceptions(options, this.headers);
    this.settlement = new Settlement(store);
  }

  /**
   * Decides on one call of a handler. If several guards of the handler call it with the same context, it counts once and
   * returns the same result. A context that you create yourself counts each time.
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (!isOfNest(context)) return this.decide(context);
    const call = context as DecidedContext;
    if (call[DECIDED] !== undefined && this.isSameCall(call, context)) return call[DECIDED];
    call[ASKED] = this;
    return (call[DECIDED] = this.decide(context));
  }

  private isSameCall(call: DecidedContext, context: ExecutionContext): boolean {
    const asked = [call[ASKED] ?? []].flat().concat(this);
    if (!isOneCall(asked, context, this.config)) return false;
    call[ASKED] = asked;
    return true;
  }

  private decide(context: ExecutionContext): boolean | Promise<boolean> {
    const adapter = this.adapters.of(context.getType<string>());
    let asked: GuardedCall;
    let answered: MaybePromise<CountedRequest | MissingKey | undefined>;
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
    return isField(context) ? plan?.handlerOnly : plan;
  }

  private unlessSkipped(asked: GuardedCall): MaybePromise<CountedRequest | MissingKey | undefined> {
    const { skipIf } = this.options;
    if (skipIf === undefined) return this.resolve(asked);
    return andThen(evaluate(MODULE, 'skipIf', skipIf, asked.context), (skip) =>
      skip === true ? undefined : this.resolve(asked),
    );
  }

  private resolve({
    context,
    adapter,
    plan,
  }: GuardedCall): MaybePromise<CountedRequest | MissingKey | undefined> {
    const visit = new ContextRequest(adapter, context, this.options.ipv6Subnet, this.advice);
    if (this.options.isSkipped?.(visit) === true) return undefined;
    return andThen(resolve(plan, visit, context, this.reporter.shadowFailed), (checks) =>
      this.ask(checks, plan),
    );
  }

  private ask(
    checks: PlannedCheck[] | MissingKey,
    plan: Plan,
  ): MaybePromise<CountedRequest | MissingKey | undefined> {
    if (!Array.isArray(checks)) return checks;
    if (checks.length === 0) return undefined;
    return andThen(this.store.consume(checks, plan.hasCountWhen), (results) => ({ checks, results }));
  }

  private conclude(
    answered: CountedRequest | MissingKey | undefined,
    asked: GuardedCall,
  ): boolean | Promise<boolean> {
    if (answered === undefined) return true;
    if ('missingKey' in answered) return this.denyMissingKey(answered, asked);
    const { checks, results } = answered;
    const { context, plan } = asked;
    const verdict = toVerdict(plan.hasShadows ? withShadows(checks, results) : results);
    // what those who are told of it do with it changes nothing
    const { allowed } = verdict;
    this.show(verdict, checks, asked);
    this.reporter.report(verdict, context);
    if (plan.hasShadows) this.reporter.reportShadows(verdict, context);
    if (!allowed) return this.deny(verdict, checks, asked);
    if (plan.keepsDecision) this.keep(verdict, answered, asked);
    return true;
  }

  /** Sets the headers, but for those of a redirection, as the draft wants it. */
  private show(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    { context, adapter, plan }: GuardedCall,
  ): void {
    if (!plan.redirects || !verdict.allowed) this.headers.show(verdict, checks, context, adapter);
  }

  /** Lets those who come after it know what was decided, and gives back what should not have counted. */
  private keep(verdict: Verdict, { checks, results }: CountedRequest, asked: GuardedCall): void {
    const { context, adapter, plan } = asked;
    if (!plan.hasCountWhen || !this.outcomes.isKnown(context)) {
      saveDecision(context, { verdict, settle: undefined });
      return;
    }
    const response = adapter.response?.(context) as StatusResponse | undefined;
    saveDecision(context, {
      verdict,
      settle: async (end) => {
        const after = await this.settlement.settle({ checks, results, context, response }, end);
        if (after !== undefined) this.show(toVerdict(after), checks, asked);
      },
    });
    // before fields of results there may be guards and no interceptors: then nobody comes to know how they end
    if (isField(context)) return;
    // where a guard behind this one refuses, nobody else comes to know it; only HTTP's status tells how that ended
    onResponseEnd(response, () => {
      void takeUnsettled(context)?.settle?.({ succeeded: context.getType() === 'http', error: undefined });
    });
  }

  private async denyMissingKey(missing: MissingKey, { context, adapter }: GuardedCall): Promise<never> {
    throw await this.refusals.ofMissingKey(missing, context, adapter);
  }

  private async deny(
    verdict: Verdict,
    checks: readonly PlannedCheck[],
    { context, adapter }: GuardedCall,
  ): Promise<never> {
    throw await this.refusals.ofDenied(verdict, checks, context, adapter);
  }

  /** What keeps the guard from deciding is never a pass. */
  private async fail(error: unknown, context: ExecutionContext, adapter: ContextAdapter): Promise<never> {
    throw await this.refusals.ofFailed(error, context, adapter);
  }
}

function isField(context: ExecutionContext): boolean {
  return context.getType<string>() === 'graphql' && isFieldResolver(context);
}
