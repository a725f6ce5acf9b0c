import { capacityOf } from '../../core/counter-kind.js';
import { type Check, type CheckResult, isPlain } from '../../core/check.js';
import { RecentMap } from './recent-map.js';

/** What the store said about a counter when it last denied a request with it. Times are of this process's monotonic clock. */
export interface CachedCount {
  readonly used: number;
  /** When its window ends, or until when it is as new; meaningless if `used` is 0. */
  readonly endsAtMs: number;
  /** What it denied; `undefined` for nothing, and for a fixed window without a block, whose numbers say it all. */
  readonly denied: CachedDenial | undefined;
  /** When the entry expires: with its window or after `MAX_AGE_MS`, whichever comes first. */
  readonly expiresAtMs: number;
}

/** A counter denies the same cost, and a higher one, up to a time. */
export interface CachedDenial {
  readonly cost: number;
  readonly limit: number;
  readonly capacity: number;
  readonly isBlocked: boolean;
  readonly endsAtMs: number;
}

/** Whether a counter is certain to deny a check. */
export function isDenied({ used, denied }: CachedCount, check: Check, nowMs: number): boolean {
  const { cost, limit, kind, block } = check;
  const isDeniedNow = denied !== undefined && nowMs < denied.endsAtMs;
  if (isDeniedNow && denied.isBlocked) return limit < Infinity;
  if (isPlain(check)) return used + cost > limit;
  // the store begins a block for a request that crosses the limit
  if (block !== undefined) return false;
  // the units of a calendar become fewer when its period ends
  if (kind.type === 'calendar' && used > 0) return used + cost > limit;
  return isDeniedNow && cost >= denied.cost && limit <= denied.limit && capacityOf(check) <= denied.capacity;
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
      const result = results[i];
      if (result === undefined) return;
      const { used, resetAfterMs } = result;
      const endsAtMs = sentAtMs + resetAfterMs;
      const expiresAtMs = used === 0 ? maxAgeAtMs : Math.min(maxAgeAtMs, endsAtMs);
      const denied = denialOf(check, result, sentAtMs);
      this.counts.set(check, { used, endsAtMs, denied, expiresAtMs }, sentAtMs);
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

function denialOf(check: Check, result: CheckResult, sentAtMs: number): CachedDenial | undefined {
  const { allowed, blocked = false, cost, limit, retryAfterMs } = result;
  if (allowed || (isPlain(check) && !blocked)) return undefined;
  const endsAtMs = sentAtMs + retryAfterMs;
  return { cost, limit, capacity: capacityOf(check), isBlocked: blocked, endsAtMs };
}
