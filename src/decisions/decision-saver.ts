import type { ExecutionContext } from '@nestjs/common';
import type { ResolvedAdapter } from '../contexts/adapters.js';
import type { CheckResult } from '../core/check.js';
import type { Store } from '../core/store.js';
import { toVerdict, type Verdict } from '../core/verdict.js';
import type { Plan } from '../rules/plan.js';
import { withShadows } from '../rules/shadow.js';
import type { PlannedCheck } from '../rules/to-checks.js';
import { saveDecision, takeUnsettled } from './decisions.js';
import { KnownOutcomes } from './known-outcomes.js';
import type { StatusResponse } from './outcome.js';
import { onResponseEnd } from './response-end.js';
import { Settlement } from './settlement.js';

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
 * Saves the guard's decisions. One that has rules with `countWhen` is settled once, when it is known how the request ended:
 * by the interceptor around its handler, else at the end of its HTTP response.
 */
export class DecisionSaver {
  private readonly settlement: Settlement;
  private readonly outcomes = new KnownOutcomes();

  constructor(store: Store) {
    this.settlement = new Settlement(store);
  }

  /** @param onRefund called with the new verdict if a part of the request was refunded */
  save(request: AllowedRequest, onRefund: (verdict: Verdict) => void): void {
    const { context, adapter, plan, verdict, checks } = request;
    if (!plan.hasCountWhen || !this.outcomes.isKnown(context, adapter)) {
      saveDecision(context, { verdict, settle: undefined });
      return;
    }
    const response = adapter.response?.(context) as StatusResponse | undefined;
    const charged = { ...request, isHttp: adapter.isHttp, response };
    saveDecision(context, {
      verdict,
      settle: async (end) => {
        const results = await this.settlement.settle(charged, end);
        if (results !== undefined) onRefund(toVerdict(withShadows(checks, results)));
      },
    });
    settleAtResponseEnd(context, adapter, response);
  }
}

/** If a later guard denies the request, no interceptor runs. Then only the status of an HTTP response tells how it ended. */
function settleAtResponseEnd(context: ExecutionContext, adapter: ResolvedAdapter, response: unknown): void {
  // guards may run for fields of results without interceptors: their outcome is unknown, and they stay counted
  if (adapter.isFieldResolver(context)) return;
  onResponseEnd(response, () => {
    void takeUnsettled(context)?.settle?.({ succeeded: adapter.isHttp, error: undefined });
  });
}
