import type { Check, CheckResult } from '../../core/check.js';
import { RecentMap } from './recent-map.js';

/** What the store said about a counter when it last denied a request with it. */
export interface CachedCount {
  readonly used: number;
  /** When its window ends, by the monotonic clock of this process; meaningless if `used` is 0. */
  readonly endsAtMs: number;
  /** When the entry expires: with its window or after `MAX_AGE_MS`, whichever comes first. */
  readonly expiresAtMs: number;
}

/** Short, because a `reset` or a refund in another process makes an entry wrong. */
const MAX_AGE_MS = 1_000;

/** The counts of the counters in recent denials. */
export class CachedCounts {
  private readonly counts = new RecentMap<CachedCount>(MAX_AGE_MS);
  /** When the newest entry expires. */
  private expiresAtMs = -Infinity;

  get size(): number {
    return this.counts.size;
  }

  /** Whether all entries have expired: then no key needs a look-up. */
  isEmpty(nowMs: number): boolean {
    return nowMs >= this.expiresAtMs;
  }

  get(check: Check, nowMs: number): CachedCount | undefined {
    const count = this.counts.get(check);
    return count !== undefined && nowMs < count.expiresAtMs ? count : undefined;
  }

  /**
   * Adds the counts of a denial.
   * @param sentAtMs when the store was called: windows are counted from then on, so that an entry can only expire early
   */
  add(checks: readonly Check[], results: readonly CheckResult[], sentAtMs: number): void {
    const maxAgeAtMs = sentAtMs + MAX_AGE_MS;
    this.expiresAtMs = Math.max(this.expiresAtMs, maxAgeAtMs);
    checks.forEach((check, i) => {
      const { used = 0, resetAfterMs = 0 } = results[i] ?? {};
      const endsAtMs = sentAtMs + resetAfterMs;
      const expiresAtMs = used === 0 ? maxAgeAtMs : Math.min(maxAgeAtMs, endsAtMs);
      this.counts.set(check, { used, endsAtMs, expiresAtMs }, sentAtMs);
    });
  }

  /** Removes the counts of these checks, because their counters are about to be refunded. */
  forget(checks: readonly Check[]): void {
    for (const check of checks) this.counts.delete(check);
  }

  clear(): void {
    this.counts.clear();
  }
}
