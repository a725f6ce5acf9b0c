import { type Check, type CheckResult, passesAll, type Source, toResult } from '../../core/check.js';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.js';
import type { OutcomeHooks, Store } from '../../core/store.js';
import { StoreLayer } from './store-layer.js';

/**
 * Applies each check's `onStoreError` when the store does not answer.
 *
 * The fallback also has all leases that this process has in the store, as far as it would count their checks. So while the
 * store does not answer, a new lease is taken if the process then has at most its share. Leases above that share are kept until
 * their work ends. All leases of the process are renewed in the store when it answers again, also those that only the fallback had.
 */
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
      onResults: checks.some(takesLease) ? this.noteLeases(checks, hooks) : hooks?.onResults,
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
    return results.map((result, i) => {
      const next = (source: 'store' | 'memory'): CheckResult | undefined =>
        isSettledIn(source, checks[i], result) ? settled[source].next().value : undefined;
      const now = { store: next('store'), memory: next('memory'), allow: undefined, none: undefined };
      return now[result.source] ?? result;
    });
  }

  renew(checks: readonly Check[]): MaybePromise<(boolean | undefined)[]> {
    const renewed = this.store.renew(checks);
    void this.fallback.renew(checks.filter(isCountedInMemory));
    return renewed;
  }

  async reset(checks: readonly Check[]): Promise<void> {
    await this.fallback.reset(checks);
    await this.store.reset(checks);
  }

  override async close(): Promise<void> {
    await Promise.all([this.store.close(), this.fallback.close()]);
  }

  /** Hooks that also put the leases of a request into the fallback, if it has got them. */
  private noteLeases(checks: readonly Check[], hooks: OutcomeHooks | undefined): OutcomeHooks['onResults'] {
    return (results) => {
      if (passesAll(checks, results)) {
        const isHeld = (check: Check, i: number): boolean =>
          takesLease(check) && results[i]?.allowed === true;
        void this.fallback.renew(checks.filter(isHeld).filter(isCountedInMemory));
      }
      hooks?.onResults?.(results);
    };
  }

  /** One check with `onStoreError: 'deny'` fails the request; else those with `'memory'` decide it. */
  private async withoutStore(
    error: unknown,
    checks: readonly Check[],
    callFallback: (checks: Check[]) => MaybePromise<CheckResult[]>,
  ): Promise<CheckResult[]> {
    if (checks.some(({ onStoreError }) => onStoreError === 'deny')) throw error;
    const counted = checks.filter(isCountedInMemory);
    const results = (await callFallback(counted.map((check) => this.share(check)))).values();
    return checks.map((check) => {
      const result = isCountedInMemory(check) ? results.next().value : undefined;
      return result ?? allowedWithoutCounter(check);
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

function isCountedInMemory({ onStoreError }: Check): boolean {
  return onStoreError === 'memory';
}

function takesLease({ kind, cost }: Check): boolean {
  return kind.type === 'concurrency' && cost > 0;
}

function allowedWithoutCounter(check: Check): CheckResult {
  const result = toResult(check, true, 0, 0, 'allow');
  return check.kind.type === 'concurrency' ? { ...result, concurrency: true } : result;
}

/** A lease may be in both places: it is renewed in both. */
function isSettledIn(source: Source, check: Check | undefined, result: CheckResult | undefined): boolean {
  return result?.source === source || check?.kind.type === 'concurrency';
}

/** The checks whose results have this source, these results, and their costs. */
function onlyFrom(
  source: Source,
  checks: readonly Check[],
  results: readonly CheckResult[],
  costs: readonly number[],
): [Check[], CheckResult[], number[]] {
  const hasSource = (_: unknown, i: number): boolean => isSettledIn(source, checks[i], results[i]);
  return [checks.filter(hasSource), results.filter(hasSource), costs.filter(hasSource)];
}
