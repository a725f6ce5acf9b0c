import type { Check, CheckResult } from '../../core/check.js';
import type { MaybePromise } from '../../core/maybe-promise.js';
import { FullCounters } from './full-counters.js';
import {
  consumeInGroups,
  inOriginalOrder,
  peekBeforeConsume,
  type PeekingStore,
  type CheckGroup,
  groupChecks,
} from '../../core/split-request.js';
import type { Store } from '../../core/store.js';
import { StoreLayer } from './store-layer.js';

/**
 * Wraps a store that can decide only checks of one place in one step, such as a Cluster with its slots.
 *
 * All parts of a request are charged in parallel. If the request is likely to be denied, they are peeked first.
 */
export class SplitStore extends StoreLayer implements Store {
  private readonly full = new FullCounters();

  constructor(
    store: Store,
    /** Names the part of the store that a check's counter lies in. */
    private readonly partOf: (check: Check) => string,
    /** Told what is about to be given back. */
    private readonly onRefund: (checks: readonly Check[]) => void = () => undefined,
    private readonly clock: () => number = () => performance.now(),
    /** The clock with which the store measures how long a request waits. */
    private readonly waitClock: () => number = clock,
  ) {
    super(store);
  }

  consume(checks: readonly Check[], refundable?: boolean): MaybePromise<CheckResult[]> {
    const parts = groupChecks(checks, this.partOf);
    return parts.length === 1 ? this.store.consume(checks, refundable) : this.consumeParts(checks, parts);
  }

  private async consumeParts(checks: readonly Check[], parts: readonly CheckGroup[]): Promise<CheckResult[]> {
    const sentAtMs = this.clock();
    const results = await (checks.some((check) => this.full.willDeny(check, sentAtMs))
      ? peekBeforeConsume(parts, this.parts, this.waitClock())
      : consumeInGroups(parts, this.parts));
    this.full.learn(checks, results, sentAtMs);
    return results;
  }

  private readonly parts: PeekingStore = {
    consume: (checks, refundable, queuedAtMs) => this.store.consume(checks, refundable, queuedAtMs),
    peek: (checks) => this.store.peek(checks),
    refund: (checks, results) => {
      this.onRefund(checks);
      return this.store.refund(checks, results, true);
    },
  };

  async peek(checks: readonly Check[]): Promise<CheckResult[]> {
    const parts = groupChecks(checks, this.partOf);
    return inOriginalOrder(parts, await Promise.all(parts.map(async (part) => this.store.peek(part.checks))));
  }

  async refund(checks: readonly Check[], results: readonly CheckResult[]): Promise<CheckResult[]> {
    const parts = groupChecks(checks, this.partOf);
    const answers = parts.map(async ({ checks: its, indexes }) =>
      this.store.refund(
        its,
        results.filter((_, place) => indexes.includes(place)),
      ),
    );
    return inOriginalOrder(parts, await Promise.all(answers));
  }

  async reset(checks: readonly Check[]): Promise<void> {
    await Promise.all(groupChecks(checks, this.partOf).map(async (part) => this.store.reset(part.checks)));
  }
}
