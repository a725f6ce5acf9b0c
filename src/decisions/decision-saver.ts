import type { ExecutionContext } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import type { CheckResult } from '../core/check.js';
import type { Store } from '../core/store.js';
import type { Verdict } from '../core/verdict.js';
import type { Plan } from '../rules/plan.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import { NamedCharges } from './charge.js';
import { type Decision, saveDecision, takeUnsettled } from './decisions.js';
import { KnownOutcomes } from './known-outcomes.js';
import type { StatusResponse } from './outcome.js';
import { RequestCharges } from './request-charges.js';
import { onResponseClose, onResponseEnd } from './response-end.js';
import { Settlement } from './settlement.js';

// captured here, because a test may replace timers later
const nextTurn = setImmediate;

/** A request that the guard lets through. */
export interface AllowedRequest {
  readonly context: ExecutionContext;
  readonly adapter: ResolvedAdapter;
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly checks: readonly PlannedCheck[];
  /** The store's results. */
  readonly results: readonly CheckResult[];
}

/**
 * Saves the guard's decisions. One that has rules with `countWhen` or `actualCost` is settled once, when it is known how the
 * request ended: by the interceptor around its handler, else at the end of its HTTP response.
 */
export class DecisionSaver {
  private readonly settlement = new Settlement();
  private readonly outcomes = new KnownOutcomes();

  constructor(private readonly store: Store) {}

  /** @param onSettled called with the new results if a part of the request was settled */
  save(request: AllowedRequest, onSettled: (results: readonly CheckResult[]) => void): void {
    const { context, adapter, plan, verdict, checks, results } = request;
    if (!plan.settles) {
      saveDecision(context, { verdict });
      return;
    }
    const isByOutcome = plan.settlesByOutcome && this.outcomes.isKnown(context, adapter);
    // GraphQL may run no interceptors for fields
    const awaitsOutcome = isByOutcome && !adapter.isFieldResolver(context);
    const charges = new RequestCharges(this.store, { checks, results }, awaitsOutcome, onSettled);
    const decision = { verdict, charges: plan.showsCharges ? namedCharges(request, charges) : undefined };
    if (!isByOutcome) {
      saveDecision(context, decision);
      return;
    }
    this.saveUnsettled(request, charges, decision);
  }

  private saveUnsettled(request: AllowedRequest, charges: RequestCharges, decision: Decision): void {
    const { context, adapter, plan, checks } = request;
    const response = adapter.response?.(context) as StatusResponse | undefined;
    const ended = { context, isHttp: adapter.isHttp, response, checks, charges };
    saveDecision(context, {
      ...decision,
      settle: (end) => this.settlement.settle(ended, end),
      settlesAtEnd: plan.settlesAtEnd,
    });
    // guards may run for fields of results without interceptors: their outcome is unknown, and they stay counted
    if (adapter.isFieldResolver(context)) return;
    settleAtResponseEnd(context, adapter, response);
    if (plan.showsCharges) settleIfGone(context, response);
  }
}

function namedCharges({ context, plan }: AllowedRequest, charges: RequestCharges): NamedCharges {
  const names = plan.rules.map(({ name }) => name);
  return new NamedCharges(names, charges, () => ({
    thing: 'rule',
    place: `${context.getClass().name}.${context.getHandler().name}`,
  }));
}

/** If a later guard denies the request, no interceptor runs. Then only the status of an HTTP response tells how it ended. */
function settleAtResponseEnd(context: ExecutionContext, adapter: ResolvedAdapter, response: unknown): void {
  onResponseEnd(response, () => {
    void takeUnsettled(context)?.settle?.({ succeeded: adapter.isHttp, error: undefined });
  });
}

/** Sends what the handler has settled, also if its client is gone. */
function settleIfGone(context: ExecutionContext, response: unknown): void {
  onResponseClose(response, () => {
    // a stream of the handler is stopped first, and settles what is known of it
    void nextTurn().then(() =>
      takeUnsettled(context)?.settle?.({ succeeded: false, error: undefined, isGone: true }),
    );
  });
}
