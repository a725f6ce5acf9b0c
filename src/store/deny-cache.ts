import { type Check, type CheckResult, toResult } from '../core/check.js';
import { isPromise, type MaybePromise } from '../core/maybe-promise.js';
import type { Store } from './store.js';
import { StoreAround } from './store-around.js';

/** What the store said of a counter when it last denied a request with it. */
interface Memory {
  readonly used: number;
  /** When its window ends, by this process's monotonic clock; without meaning where nothing is used. */
  readonly endsAtMs: number;
  /** Until when it is believed, so that a `reset` in another process is soon seen. */
  readonly trustedUntilMs: number;
}

const TRUST_MS = 1_000;
const MOST_ENTRIES = 10_000;

/**
 * A store around a store that answers from memory what the store would deny again.
 *
 * A fixed-window counter never falls before its reset, so a visit that was too many stays so: the cache remembers the
 * count and the reset, not the answer, and a raised limit holds at once. It never denies what the store would allow,
 * a `reset()` or a give-back elsewhere apart, which are seen within a second. A request is answered here only when all of its counters
 * are remembered; one with a `countDenied` check is always asked, since its denied visits count.
 *
 * Ends are counted from the moment the question was sent, by a clock that nobody can set: an entry can only end early.
 */
export class DenyCache extends StoreAround implements Store {
  // two generations instead of a timer or a queue: the older one is dropped whole
  private young = new Map<string, Memory>();
  private old = new Map<string, Memory>();
  private bornMs = -Infinity;
  /** Goes up when a counter may have fallen: answers that are on their way then tell of the time before. */
  private unsure = 0;

  constructor(
    store: Store,
    private readonly clock: () => number = () => performance.now(),
  ) {
    super(store);
  }

  consume(checks: readonly Check[], refundable?: boolean): MaybePromise<CheckResult[]> {
    const sentMs = this.clock();
    const known = this.recall(checks, sentMs);
    if (known !== undefined) return known;
    const { unsure } = this;
    const answer = this.store.consume(checks, refundable);
    if (!isPromise(answer)) return answer;
    return answer.then((results) => {
      if (unsure === this.unsure) this.remember(checks, results, sentMs);
      return results;
    });
  }

  peek(checks: readonly Check[]): MaybePromise<CheckResult[]> {
    return this.store.peek(checks);
  }

  refund(checks: readonly Check[], results: readonly CheckResult[]): MaybePromise<CheckResult[]> {
    this.unsure++;
    this.forget(checks);
    return this.store.refund(checks, results);
  }

  /**
   * For counters that fall within a visit, where a part of it denies. What is on its way of them is believed all the
   * same, for a second at most: else no denial of a visit in several parts were ever remembered.
   */
  forget(checks: readonly Check[]): void {
    for (const { key } of checks) {
      this.young.delete(key);
      this.old.delete(key);
    }
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
    this.unsure++;
    this.young.clear();
    this.old.clear();
  }

  /** The answer to a request that is surely denied; `undefined` for all others. */
  private recall(checks: readonly Check[], nowMs: number): CheckResult[] | undefined {
    let denies = false;
    const results: CheckResult[] = [];
    for (const check of checks) {
      const memory = this.find(check.key);
      if (memory === undefined || check.countDenied || nowMs >= memory.trustedUntilMs) return undefined;
      const leftMs = memory.used === 0 ? 0 : Math.ceil(memory.endsAtMs - nowMs);
      if (memory.used > 0 && leftMs <= 0) return undefined;
      const allowed = memory.used + check.cost <= check.limit;
      denies ||= !allowed;
      results.push(toResult(check, allowed, memory.used, leftMs));
    }
    return denies ? results : undefined;
  }

  private find(key: string): Memory | undefined {
    return this.young.get(key) ?? this.old.get(key);
  }

  private remember(checks: readonly Check[], results: readonly CheckResult[], sentMs: number): void {
    if (results.every(({ allowed }) => allowed)) return;
    // only the store itself is sure; what stands in for it is not remembered beyond its time
    if (results.some(({ source }) => source !== 'store')) return;
    if (sentMs - this.bornMs > TRUST_MS || this.young.size >= MOST_ENTRIES) {
      this.old = this.young;
      this.young = new Map();
      this.bornMs = sentMs;
    }
    const trustedUntilMs = sentMs + TRUST_MS;
    checks.forEach(({ key }, i) => {
      const { used = 0, resetAfterMs = 0 } = results[i] ?? {};
      this.young.set(key, { used, endsAtMs: sentMs + resetAfterMs, trustedUntilMs });
    });
  }
}
