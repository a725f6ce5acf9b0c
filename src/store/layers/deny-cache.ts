import { type Check, type CheckResult, isPlain, toMeasuredResult, toResult } from '../../core/check.js';
import { capacityOf } from '../../core/counter-kind.js';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.js';
import type { Store } from '../../core/store.js';
import { CachedCounts, isDenied } from './cached-counts.js';
import { StoreLayer } from './store-layer.js';

/**
 * Denies from memory what the store would deny again, without a call to it.
 *
 * The counter of a fixed window does not fall before it ends, so a client over the limit stays over it. The cache keeps the
 * count and the end of the window, not the denial, so a raised limit applies at once. It denies nothing that the store would
 * allow, except for up to a second after a `reset()` or a refund in another process.
 *
 * One cached counter that denies is enough: a denied request charges nothing, whatever its other checks are. Checks without
 * a cached count get the source `none`. A request that is charged even when denied (`countDenied`) always goes to the store.
 */
export class DenyCache extends StoreLayer implements Store {
  /** Increases when a counter may have fallen: results of earlier calls are not cached then. */
  private generation = 0;

  constructor(
    store: Store,
    private readonly clock: () => number = () => performance.now(),
    private readonly counts = new CachedCounts(),
  ) {
    super(store);
  }

  consume(checks: readonly Check[], refundable?: boolean): MaybePromise<CheckResult[]> {
    const sentAtMs = this.clock();
    if (!this.counts.isEmpty(sentAtMs) && this.denies(checks, sentAtMs)) {
      return checks.map((check) => this.resultOf(check, sentAtMs));
    }
    const { generation } = this;
    return this.store.consume(checks, refundable, undefined, {
      onResults: (results) => {
        if (generation !== this.generation || !isDenialOfStore(checks, results)) return;
        this.counts.add(checks, results, sentAtMs);
      },
    });
  }

  peek(checks: readonly Check[]): MaybePromise<CheckResult[]> {
    return this.store.peek(checks);
  }

  refund(checks: readonly Check[], results: readonly CheckResult[]): MaybePromise<CheckResult[]> {
    this.generation++;
    this.counts.forget(checks);
    return this.store.refund(checks, results);
  }

  reset(checks: readonly Check[]): MaybePromise<void> {
    this.forgetAll();
    const done = this.store.reset(checks);
    if (!isPromise(done)) return done;
    // a denial that arrives meanwhile may be older than the reset
    return Promise.resolve(done).finally(() => {
      this.forgetAll();
    });
  }

  private forgetAll(): void {
    this.generation++;
    this.counts.clear();
  }

  /** Whether a request is certain to be denied and is not charged when denied. */
  private denies(checks: readonly Check[], nowMs: number): boolean {
    let denies = false;
    for (const check of checks) {
      const { cost, countDenied } = check;
      if (countDenied && cost > 0) return false;
      if (denies) continue;
      const count = this.counts.get(check, nowMs);
      denies = count !== undefined && !check.shadow && isDenied(count, check, nowMs);
    }
    return denies;
  }

  private resultOf(check: Check, nowMs: number): CheckResult {
    const count = this.counts.get(check, nowMs);
    if (count === undefined) return toResult(check, check.cost <= capacityOf(check), 0, 0, 'none');
    const { used, endsAtMs, denied } = count;
    const resetAfterMs = used > 0 ? Math.ceil(endsAtMs - nowMs) : 0;
    const isAllowed = !isDenied(count, check, nowMs);
    if (isPlain(check) && denied === undefined) return toResult(check, isAllowed, used, resetAfterMs);
    const { isBlocked = false, endsAtMs: deniedUntilMs = nowMs + resetAfterMs } = denied ?? {};
    const retryAfterMs = isAllowed ? 0 : Math.ceil(deniedUntilMs - nowMs);
    return toMeasuredResult(check, { used, resetAfterMs, retryAfterMs, isBlocked: isBlocked && !isAllowed });
  }
}

/** Whether the store itself has denied the request. What `onStoreError` decides is not cached beyond the outage. */
function isDenialOfStore(checks: readonly Check[], results: readonly CheckResult[]): boolean {
  let denies = false;
  for (let i = 0; i < results.length; i++) {
    const { allowed = true, source } = results[i] ?? {};
    if (source !== 'store') return false;
    denies ||= !allowed && checks[i]?.shadow !== true;
  }
  return denies;
}
