import type { Check, CheckResult } from '../core/check.js';
import { formatError } from '../core/errors.js';
import { settlementFailure } from '../core/settlement-failure.js';
import type { Store } from '../core/store.js';
import { nestLogPerSecond } from '../nest/log.js';

/** A request that the store has charged. */
export interface ChargedChecks {
  readonly checks: readonly Check[];
  /** The store's results. */
  readonly results: readonly CheckResult[];
}

/** The real costs of checks, by their indexes. */
export type Costs = ReadonlyMap<number, number>;

const log = nestLogPerSecond();

/**
 * What a request was charged. Each check is settled once. As long as the outcome of the request is awaited, what the handler
 * settles is kept, and goes in one call with what the outcome decides.
 */
export class RequestCharges {
  /** The checks that the handler has settled. */
  private readonly settled = new Set<number>();
  /** What it has settled while the outcome is awaited. */
  private readonly kept = new Map<number, number>();
  private latest: readonly CheckResult[];

  /**
   * @param awaitsOutcome whether it is certain that {@link finish} will be called
   * @param onSettled called with the results after a settlement
   */
  constructor(
    private readonly store: Store,
    readonly charged: ChargedChecks,
    private awaitsOutcome: boolean,
    private readonly onSettled: (results: readonly CheckResult[]) => void = () => undefined,
  ) {
    this.latest = charged.results;
  }

  /** Whether the handler has settled a check. */
  isSettled(index: number): boolean {
    return this.settled.has(index);
  }

  /** Settles checks for the handler, except those that are settled already. */
  settle(costs: Costs): Promise<void> {
    const fresh = [...costs].filter(([index]) => !this.settled.has(index));
    for (const [index] of fresh) this.settled.add(index);
    if (!this.awaitsOutcome) return this.send(fresh);
    for (const [index, cost] of fresh) this.kept.set(index, cost);
    return Promise.resolve();
  }

  /**
   * Settles what the outcome decides, together with what the handler has settled. Call it once; afterwards the handler settles
   * without waiting.
   * @param costOf the real cost of a check, given what is kept of it; `undefined`: what was charged stays
   */
  finish(costOf: (index: number, kept: number | undefined) => number | undefined): Promise<void> {
    this.awaitsOutcome = false;
    const indexes = [...this.charged.checks.keys()].filter((i) => this.kept.has(i) || !this.settled.has(i));
    return this.send(indexes.map((i) => [i, costOf(i, this.kept.get(i))] as const));
  }

  /** In one call. If it fails, what was charged stays. */
  private async send(costs: readonly (readonly [index: number, cost: number | undefined])[]): Promise<void> {
    const { checks, results } = this.charged;
    const changes: { index: number; check: Check; result: CheckResult; cost: number }[] = [];
    for (const [index, cost] of costs) {
      const [check, result] = [checks[index], results[index]];
      if (cost === undefined || check === undefined || result === undefined || cost === check.cost) continue;
      changes.push({ index, check, result, cost });
    }
    if (changes.length === 0) return;
    try {
      const after = await this.store.settle(
        changes.map(({ check }) => check),
        changes.map(({ result }) => result),
        changes.map(({ cost }) => cost),
      );
      const latest = [...this.latest];
      changes.forEach(({ index, result }, i) => (latest[index] = after[i] ?? result));
      this.latest = latest;
      this.onSettled(latest);
    } catch (error) {
      const failed = settlementFailure(changes);
      log.error('FREQ_LIMIT_REFUND_FAILED', failed, `${failed}: ${formatError(error)}`);
    }
  }
}
