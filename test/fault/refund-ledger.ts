import type { Check, CheckResult } from '../../src/core/check.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { until } from '../support/cluster.js';

/** `unanswered`: it may have been executed or not. */
export type RefundOutcome = 'pending' | 'given' | 'unanswered';

/**
 * Records every refund that the stores of this process send to a server: those of the test, and those of
 * a request that was charged in one slot and denied in another.
 */
export class RefundLedger {
  private readonly outcomes = new Map<Check, RefundOutcome>();
  private readonly original = Object.getOwnPropertyDescriptor(RedisStore.prototype, 'settle')!;

  constructor() {
    const { outcomes } = this;
    const settle = this.original.value as RedisStore['settle'];
    RedisStore.prototype.settle = async function (checks, results, costs, isInTime) {
      for (const check of checks) outcomes.set(check, 'pending');
      const after = await settle.call(this, checks, results, costs, isInTime);
      // a refund without an answer leaves the result unchanged
      checks.forEach((check, i) =>
        outcomes.set(check, isGiven(results[i], after[i]) ? 'given' : 'unanswered'),
      );
      return after;
    };
  }

  of(check: Check): RefundOutcome | undefined {
    return this.outcomes.get(check);
  }

  count(outcome: RefundOutcome): number {
    return [...this.outcomes.values()].filter((one) => one === outcome).length;
  }

  /** Waits until each refund has its answer or has failed. */
  async settled(): Promise<void> {
    await until(() => this.count('pending') === 0);
  }

  stop(): void {
    Object.defineProperty(RedisStore.prototype, 'settle', this.original);
  }
}

function isGiven(before: CheckResult | undefined, after: CheckResult | undefined): boolean {
  return after !== undefined && after !== before;
}
