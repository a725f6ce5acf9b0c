import { type Check, type CheckResult, type Source, toResult } from '../../core/check.js';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.js';
import type { Store } from '../../core/store.js';
import { StoreLayer } from './store-layer.js';

/** A store around a store that may fail: where it gives no answer, each check's `onStoreError` decides. */
export class FallbackStore extends StoreLayer implements Store {
  constructor(
    store: Store,
    /** Counts in this process meanwhile. */
    private readonly fallback: Store,
    /** This process's part of every limit meanwhile, above 0 and at most 1. */
    private readonly fallbackShare: number,
  ) {
    super(store);
  }

  consume(checks: readonly Check[], refundable?: boolean, queuedAtMs?: number): MaybePromise<CheckResult[]> {
    return this.orElse(this.store.consume(checks, refundable, queuedAtMs), checks, (kept) =>
      this.fallback.consume(kept, refundable),
    );
  }

  peek(checks: readonly Check[]): MaybePromise<CheckResult[]> {
    return this.orElse(this.store.peek(checks), checks, (kept) => this.fallback.peek(kept));
  }

  async refund(
    checks: readonly Check[],
    results: readonly CheckResult[],
    isInTime?: boolean,
  ): Promise<CheckResult[]> {
    const [ofStore, ofFallback] = await Promise.all([
      this.store.refund(...only('store', checks, results), isInTime),
      this.fallback.refund(
        ...only(
          'memory',
          checks.map((check) => this.share(check)),
          results,
        ),
      ),
    ]);
    const [fromStore, fromFallback] = [ofStore.values(), ofFallback.values()];
    return results.map((result) => {
      if (result.source === 'allow') return result;
      return (result.source === 'store' ? fromStore : fromFallback).next().value ?? result;
    });
  }

  async reset(checks: readonly Check[]): Promise<void> {
    await this.fallback.reset(checks);
    await this.store.reset(checks);
  }

  override async close(): Promise<void> {
    await Promise.all([this.store.close(), this.fallback.close()]);
  }

  private orElse(
    answer: MaybePromise<CheckResult[]>,
    checks: readonly Check[],
    askFallback: (checks: Check[]) => MaybePromise<CheckResult[]>,
  ): MaybePromise<CheckResult[]> {
    if (!isPromise(answer)) return answer;
    return answer.then(undefined, (error: unknown) => this.withoutStore(error, checks, askFallback));
  }

  private async withoutStore(
    error: unknown,
    checks: readonly Check[],
    askFallback: (checks: Check[]) => MaybePromise<CheckResult[]>,
  ): Promise<CheckResult[]> {
    if (checks.some(({ onStoreError }) => onStoreError === 'deny')) throw error;
    const counted = checks.filter(({ onStoreError }) => onStoreError === 'memory');
    const answers = (await askFallback(counted.map((check) => this.share(check)))).values();
    return checks.map((check) => {
      const answer = check.onStoreError === 'memory' ? answers.next().value : undefined;
      return answer ?? toResult(check, true, 0, 0, 'allow');
    });
  }

  /** Never so little that a visit which is within its limit could not pass at all. */
  private share(check: Check): Check {
    const { limit, cost } = check;
    if (this.fallbackShare === 1 || limit === 0 || limit === Infinity) return check;
    const least = Math.min(Math.max(cost, 1), limit);
    return { ...check, limit: Math.max(least, Math.floor(limit * this.fallbackShare)) };
  }
}

/** The checks, and their answers, that came from one place. */
function only(
  source: Source,
  checks: readonly Check[],
  results: readonly CheckResult[],
): [Check[], CheckResult[]] {
  const isIts = (_: unknown, i: number): boolean => results[i]?.source === source;
  return [checks.filter(isIts), results.filter(isIts)];
}
