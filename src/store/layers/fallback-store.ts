import { type Check, type CheckResult, type Source, toResult } from '../../core/check.js';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.js';
import type { OutcomeHooks, Store } from '../../core/store.js';
import { StoreLayer } from './store-layer.js';

/** Applies each check's `onStoreError` when the store does not answer. */
export class FallbackStore extends StoreLayer implements Store {
  constructor(
    store: Store,
    /** Counts in this process while the store does not answer. */
    private readonly fallback: Store,
    /** The part of each limit that this process allows meanwhile: above 0, at most 1. */
    private readonly fallbackShare: number,
  ) {
    super(store);
  }

  consume(
    checks: readonly Check[],
    settleable?: boolean,
    queuedAtMs?: number,
    hooks?: OutcomeHooks,
  ): MaybePromise<CheckResult[]> {
    return this.store.consume(checks, settleable, queuedAtMs, {
      onResults: hooks?.onResults,
      onError: (error) =>
        this.withoutStore(error, checks, (counted) => this.fallback.consume(counted, settleable)),
    });
  }

  peek(checks: readonly Check[]): MaybePromise<CheckResult[]> {
    const results = this.store.peek(checks);
    if (!isPromise(results)) return results;
    return results.then(undefined, (error: unknown) =>
      this.withoutStore(error, checks, (counted) => this.fallback.peek(counted)),
    );
  }

  async settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
    isInTime?: boolean,
  ): Promise<CheckResult[]> {
    const shares = checks.map((check) => this.share(check));
    const [ofStore, ofFallback] = await Promise.all([
      this.store.settle(...onlyFrom('store', checks, results, costs), isInTime),
      this.fallback.settle(...onlyFrom('memory', shares, results, costs)),
    ]);
    const settled = { store: ofStore.values(), memory: ofFallback.values() };
    return results.map((result) => {
      const { source } = result;
      return source === 'store' || source === 'memory' ? (settled[source].next().value ?? result) : result;
    });
  }

  renew(checks: readonly Check[]): MaybePromise<(boolean | undefined)[]> {
    return this.store.renew(checks);
  }

  async reset(checks: readonly Check[]): Promise<void> {
    await this.fallback.reset(checks);
    await this.store.reset(checks);
  }

  override async close(): Promise<void> {
    await Promise.all([this.store.close(), this.fallback.close()]);
  }

  /** One check with `onStoreError: 'deny'` fails the request; else those with `'memory'` decide it. */
  private async withoutStore(
    error: unknown,
    checks: readonly Check[],
    callFallback: (checks: Check[]) => MaybePromise<CheckResult[]>,
  ): Promise<CheckResult[]> {
    if (checks.some(({ onStoreError }) => onStoreError === 'deny')) throw error;
    const counted = checks.filter(({ onStoreError }) => onStoreError === 'memory');
    const results = (await callFallback(counted.map((check) => this.share(check)))).values();
    return checks.map((check) => {
      const result = check.onStoreError === 'memory' ? results.next().value : undefined;
      return result ?? toResult(check, true, 0, 0, 'allow');
    });
  }

  /** This process's share of a limit, but at least the cost, or no request within the limit could pass. */
  private share(check: Check): Check {
    const { limit, cost, kind } = check;
    if (this.fallbackShare === 1) return check;
    if (kind.type !== 'token-bucket') return { ...check, limit: this.shareOf(limit, cost) };
    // a bucket must have room for the cost, but need not refill it in one window
    return {
      ...check,
      limit: this.shareOf(limit, 1),
      kind: { ...kind, burst: this.shareOf(kind.burst, cost) },
    };
  }

  private shareOf(units: number, cost: number): number {
    if (units === 0 || units === Infinity) return units;
    const min = Math.min(Math.max(cost, 1), units);
    return Math.max(min, Math.floor(units * this.fallbackShare));
  }
}

/** The checks whose results have this source, these results, and their costs. */
function onlyFrom(
  source: Source,
  checks: readonly Check[],
  results: readonly CheckResult[],
  costs: readonly number[],
): [Check[], CheckResult[], number[]] {
  const hasSource = (_: unknown, i: number): boolean => results[i]?.source === source;
  return [checks.filter(hasSource), results.filter(hasSource), costs.filter(hasSource)];
}
