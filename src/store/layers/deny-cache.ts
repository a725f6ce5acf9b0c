import { type Check, type CheckResult, toResult } from '../../core/check.js';
import { isPromise, type MaybePromise } from '../../core/maybe-promise.js';
import { RecentMap } from './recent-map.js';
import type { Store } from '../../core/store.js';
import { StoreLayer } from './store-layer.js';

/** What the store said of a counter when it last denied a request with it. */
interface CachedCount {
  readonly used: number;
  /** When its window ends, by this process's monotonic clock; without meaning where nothing is used. */
  readonly endsAtMs: number;
  /** Until when it is used: at most to the end of its window, and only briefly, so that a `reset` elsewhere is soon seen. */
  readonly believedUntilMs: number;
}

const MAX_AGE_MS = 1_000;

/**
 * A store around a store that answers from memory what the store would deny again.
 *
 * A fixed-window counter never falls before its reset, so a request over the limit stays over it: the cache remembers the
 * count and the reset, not the answer, and a raised limit holds at once. It never denies what the store would allow,
 * except after a `reset()` or a refund elsewhere, which are seen within a second.
 *
 * One remembered counter that denies is enough: a denied request charges nothing, whatever its other checks are. Checks
 * whose counters are not remembered get the source `none`. A request with a `countDenied` check that charges always goes to
 * the store, since it counts when denied too.
 *
 * Ends are counted from the moment the question was sent, by a clock that nobody can set: an entry can only end early.
 */
export class DenyCache extends StoreLayer implements Store {
  private readonly known = new RecentMap<CachedCount>(MAX_AGE_MS);
  /** When the newest entry expires: an application that denies no request needs no look-ups. */
  private believedUntilMs = -Infinity;
  /** Goes up when a counter may have fallen: answers that are on their way then tell of the time before. */
  private generation = 0;

  constructor(
    store: Store,
    private readonly clock: () => number = () => performance.now(),
  ) {
    super(store);
  }

  consume(checks: readonly Check[], refundable?: boolean): MaybePromise<CheckResult[]> {
    const sentAtMs = this.clock();
    if (sentAtMs < this.believedUntilMs && this.denies(checks, sentAtMs)) {
      return checks.map((check) => this.answer(check, sentAtMs));
    }
    const { generation } = this;
    const answer = this.store.consume(checks, refundable);
    if (!isPromise(answer)) return answer;
    return answer.then((results) => {
      if (generation === this.generation) this.remember(checks, results, sentAtMs);
      return results;
    });
  }

  peek(checks: readonly Check[]): MaybePromise<CheckResult[]> {
    return this.store.peek(checks);
  }

  refund(checks: readonly Check[], results: readonly CheckResult[]): MaybePromise<CheckResult[]> {
    this.generation++;
    this.forget(checks);
    return this.store.refund(checks, results);
  }

  /**
   * For counters that fall within a visit, where a part of it denies. What is on its way of them is believed all the
   * same, for a second at most: else no denial of a visit in several parts were ever remembered.
   */
  forget(checks: readonly Check[]): void {
    for (const { key } of checks) this.known.delete(key);
  }

  reset(checks: readonly Check[]): MaybePromise<void> {
    this.forgetAll();
    const done = this.store.reset(checks);
    if (!isPromise(done)) return done;
    // what was asked beside it may have been answered before it
    return Promise.resolve(done).finally(() => {
      this.forgetAll();
    });
  }

  private forgetAll(): void {
    this.generation++;
    this.known.clear();
  }

  /** Whether a request is certain to be denied, and counts nothing when denied. */
  private denies(checks: readonly Check[], nowMs: number): boolean {
    let denies = false;
    for (const { key, cost, limit, countDenied } of checks) {
      if (countDenied && cost > 0) return false;
      if (denies) continue;
      const memory = this.recall(key, nowMs);
      denies = memory !== undefined && memory.used + cost > limit;
    }
    return denies;
  }

  private answer(check: Check, nowMs: number): CheckResult {
    const memory = this.recall(check.key, nowMs);
    if (memory === undefined) return toResult(check, check.cost <= check.limit, 0, 0, 'none');
    const { used, endsAtMs } = memory;
    return toResult(
      check,
      used + check.cost <= check.limit,
      used,
      used > 0 ? Math.ceil(endsAtMs - nowMs) : 0,
    );
  }

  private recall(key: string, nowMs: number): CachedCount | undefined {
    const memory = this.known.get(key);
    return memory !== undefined && nowMs < memory.believedUntilMs ? memory : undefined;
  }

  private remember(checks: readonly Check[], results: readonly CheckResult[], sentAtMs: number): void {
    if (results.every(({ allowed }) => allowed)) return;
    // only the store itself is sure; what stands in for it is not remembered beyond its time
    if (results.some(({ source }) => source !== 'store')) return;
    const trustedUntilMs = sentAtMs + MAX_AGE_MS;
    this.believedUntilMs = Math.max(this.believedUntilMs, trustedUntilMs);
    checks.forEach(({ key }, i) => {
      const { used = 0, resetAfterMs = 0 } = results[i] ?? {};
      const endsAtMs = sentAtMs + resetAfterMs;
      const believedUntilMs = used === 0 ? trustedUntilMs : Math.min(trustedUntilMs, endsAtMs);
      this.known.set(key, { used, endsAtMs, believedUntilMs }, sentAtMs);
    });
  }
}
