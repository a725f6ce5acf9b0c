import type { Check, CheckResult } from '../core/check.js';
import type { MaybePromise } from '../core/maybe-promise.js';
import { consumeInParts, joined, type PartStore, partsOf } from './parts.js';
import type { Store } from './store.js';
import { StoreAround } from './store-around.js';

/** A store around a store that decides in one step only what lies together, as a Cluster does with one slot. */
export class PartedStore extends StoreAround implements Store {
  constructor(
    store: Store,
    /** Names the part of the store that a check's counter lies in. */
    private readonly partOf: (check: Check) => string,
    /** Told what is about to be given back. */
    private readonly onRefund: (checks: readonly Check[]) => void = () => undefined,
  ) {
    super(store);
  }

  consume(checks: readonly Check[], refundable?: boolean): MaybePromise<CheckResult[]> {
    const parts = partsOf(checks, this.partOf);
    return parts.length === 1 ? this.store.consume(checks, refundable) : consumeInParts(parts, this.parts);
  }

  private readonly parts: PartStore = {
    consume: (checks, refundable) => this.store.consume(checks, refundable),
    refund: (checks, results) => {
      this.onRefund(checks);
      return this.store.refund(checks, results, true);
    },
  };

  async peek(checks: readonly Check[]): Promise<CheckResult[]> {
    const parts = partsOf(checks, this.partOf);
    return joined(parts, await Promise.all(parts.map(async (part) => this.store.peek(part.checks))));
  }

  async refund(checks: readonly Check[], results: readonly CheckResult[]): Promise<CheckResult[]> {
    const parts = partsOf(checks, this.partOf);
    const answers = parts.map(async ({ checks: its, places }) =>
      this.store.refund(
        its,
        results.filter((_, place) => places.includes(place)),
      ),
    );
    return joined(parts, await Promise.all(answers));
  }

  async reset(checks: readonly Check[]): Promise<void> {
    await Promise.all(partsOf(checks, this.partOf).map(async (part) => this.store.reset(part.checks)));
  }
}
