import {
  beginsBlock,
  type Check,
  type CheckResult,
  isPlain,
  toMeasuredResult,
  toResult,
} from '../../core/check.js';
import { capacityOf, UNKNOWN_WAIT_MS } from '../../core/counter-kind.js';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.js';
import type { Store } from '../../core/store.js';
import { CachedCounts, isBlockedAt, isDenied } from './cached-counts.js';
import { StoreLayer } from './store-layer.js';

/**
 * Denies from memory what the store would deny again, without a call to it.
 *
 * The counter of a fixed window or of a calendar does not fall before it ends, so a client over the limit stays over it. The
 * cache keeps the count and the end of the window, not the denial, so a raised limit applies at once. Of other counters it
 * keeps how much was denied and until when, and of all counters how long they are blocked. It denies nothing that the store
 * would allow, except for up to a second after a `reset()` or a refund in another process.
 *
 * One cached counter that denies is enough: a denied request charges nothing, whatever its other checks are. Checks without
 * a cached count get the source `none`. A request that is charged even when denied (`countDenied`), or that may begin a block,
 * always goes to the store.
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

  consume(checks: readonly Check[], settleable?: boolean): MaybePromise<CheckResult[]> {
    const sentAtMs = this.clock();
    if (!this.counts.isEmpty(sentAtMs) && this.denies(checks, sentAtMs)) {
      return checks.map((check) => this.resultOf(check, sentAtMs));
    }
    const { generation } = this;
    return this.store.consume(checks, settleable, undefined, {
      onResults: (results) => {
        if (generation === this.generation && isDenialOfStore(checks, results))
          this.counts.add(checks, results, sentAtMs, this.clock());
        else if (!this.counts.isEmpty(sentAtMs)) this.counts.forget(checks.filter(hasBlock));
      },
    });
  }

  peek(checks: readonly Check[]): MaybePromise<CheckResult[]> {
    return this.store.peek(checks);
  }

  settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
  ): MaybePromise<CheckResult[]> {
    // a debt only makes it more certain that a counter denies, and nothing about leases is cached
    const lowered = checks.filter(
      ({ cost, kind }, i) => kind.type !== 'concurrency' && (costs[i] ?? cost) < cost,
    );
    this.forget(lowered);
    const settled = this.store.settle(checks, results, costs);
    if (lowered.length === 0 || !isPromise(settled)) return settled;
    // a denial that arrives meanwhile may be older than the refund
    return Promise.resolve(settled).finally(() => {
      this.forget(lowered);
    });
  }

  renew(checks: readonly Check[]): MaybePromise<(boolean | undefined)[]> {
    return this.store.renew(checks);
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

  private forget(checks: readonly Check[]): void {
    if (checks.length === 0) return;
    this.generation++;
    this.counts.forget(checks);
  }

  private forgetAll(): void {
    this.generation++;
    this.counts.clear();
  }

  /** Whether a request is certain to be denied, and changes nothing when it is. */
  private denies(checks: readonly Check[], nowMs: number): boolean {
    let denies = false;
    for (const check of checks) {
      if (check.countDenied && check.cost > 0) return false;
      if (hasBlock(check) && this.mayBeginBlock(check, checks, nowMs)) return false;
      if (denies || check.shadow) continue;
      const count = this.counts.get(check, nowMs);
      denies = count !== undefined && isDenied(count, check, nowMs);
    }
    return denies;
  }

  private mayBeginBlock(check: Check, checks: readonly Check[], nowMs: number): boolean {
    const count = this.counts.get(check, nowMs);
    if (count !== undefined && isBlockedAt(count, nowMs)) return false;
    // several checks on one counter may exceed the limit together
    const isOnly = checks.filter((other) => isSameCounter(other, check)).length === 1;
    const allowed = count !== undefined && isOnly && count.used + check.cost <= capacityOf(check);
    return beginsBlock(check, { allowed });
  }

  private resultOf(check: Check, nowMs: number): CheckResult {
    const count = this.counts.get(check, nowMs);
    if (count === undefined) return withoutCount(check);
    const { used, endsAtMs, denied, tookMs } = count;
    // who waits as long must not come too early, so the times are counted from the reply
    const resetAfterMs = used > 0 ? Math.ceil(endsAtMs + tookMs - nowMs) : 0;
    const allowed = !isDenied(count, check, nowMs);
    const isBlocked = !allowed && isBlockedAt(count, nowMs);
    if (check.kind.type === 'fixed-window' && !isBlocked) return toResult(check, allowed, used, resetAfterMs);
    // a higher cost may have to wait longer
    const waitMs = denied === undefined ? resetAfterMs : Math.ceil(denied.endsAtMs + tookMs - nowMs);
    const retryAfterMs = allowed ? 0 : waitMs;
    return toMeasuredResult(check, { used, resetAfterMs, retryAfterMs, isBlocked });
  }
}

function hasBlock({ block }: Check): boolean {
  return block !== undefined;
}

function isSameCounter(a: Check, b: Check): boolean {
  return a.group === b.group && a.text === b.text;
}

/** The result of a check of whose counter nothing is known. Another check denies its request. */
function withoutCount(check: Check): CheckResult {
  const allowed = check.cost <= capacityOf(check);
  if (isPlain(check)) return toResult(check, allowed, 0, 0, 'none');
  const waitMs = check.kind.type === 'concurrency' ? UNKNOWN_WAIT_MS : check.windowMs;
  const retryAfterMs = allowed ? 0 : waitMs;
  return toMeasuredResult(check, { used: 0, resetAfterMs: 0, retryAfterMs, isBlocked: false }, 'none');
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
