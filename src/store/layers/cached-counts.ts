import { capacityOf } from '../../core/counter-kind.js';
import type { Check, CheckResult } from '../../core/check.js';
import { RecentMap } from './recent-map.js';

/** What the store said about a counter when it last denied a request with it. Times are of this process's monotonic clock. */
export interface CachedCount {
  readonly used: number;
  /** When its window ends, or until when it is as new, at the earliest; meaningless if `used` is 0. */
  readonly endsAtMs: number;
  /** What it denied; `undefined` for a fixed window that does not block, whose count says it, and if it denied nothing. */
  readonly denied: CachedDenial | undefined;
  /** How long the call took. The server may have counted as late as that, so all times may end later by it. */
  readonly tookMs: number;
  /** When the entry expires: with its window or after `MAX_AGE_MS`, whichever comes first. */
  readonly expiresAtMs: number;
}

/** A counter denies the same cost, and a higher one, up to a time. */
interface CachedDenial {
  readonly cost: number;
  readonly limit: number;
  readonly capacity: number;
  readonly isBlocked: boolean;
  readonly endsAtMs: number;
}

/** Whether a counter is certain to deny a check. */
export function isDenied({ used, denied }: CachedCount, check: Check, nowMs: number): boolean {
  const { cost, limit, kind } = check;
  if (kind.type === 'fixed-window' && denied === undefined) return used + cost > limit;
  if (kind.type === 'calendar' && used > 0 && denied?.isBlocked !== true) return used + cost > limit;
  if (denied === undefined || nowMs >= denied.endsAtMs) return false;
  if (denied.isBlocked) return capacityOf(check) < Infinity;
  return cost >= denied.cost && limit <= denied.limit && capacityOf(check) <= denied.capacity;
}

/** Whether a counter is blocked. */
export function isBlockedAt({ denied }: CachedCount, nowMs: number): boolean {
  return denied?.isBlocked === true && nowMs < denied.endsAtMs;
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
   * @param answeredAtMs when it answered
   */
  add(
    checks: readonly Check[],
    results: readonly CheckResult[],
    sentAtMs: number,
    answeredAtMs = sentAtMs,
  ): void {
    const tookMs = answeredAtMs - sentAtMs;
    const maxAgeAtMs = sentAtMs + MAX_AGE_MS;
    this.expiresAtMs = Math.max(this.expiresAtMs, maxAgeAtMs);
    // of several checks on one counter, one that says that it is blocked comes last, and stays
    for (const blocked of [undefined, true]) {
      results.forEach((result, i) => {
        const check = checks[i];
        // a lease may be released at any time
        if (check === undefined || check.kind.type === 'concurrency' || result.blocked !== blocked) return;
        const { used, resetAfterMs } = result;
        const endsAtMs = sentAtMs + resetAfterMs;
        const expiresAtMs = used === 0 ? maxAgeAtMs : Math.min(maxAgeAtMs, endsAtMs);
        const denied = denialOf(checks, i, result, sentAtMs);
        this.counts.set(check, { used, endsAtMs, denied, tookMs, expiresAtMs }, sentAtMs);
      });
    }
  }

  /** Removes the counts of these checks, because their counters have changed or are about to be refunded. */
  forget(checks: readonly Check[]): void {
    for (const check of checks) this.counts.delete(check);
  }

  clear(): void {
    this.counts.clear();
  }
}

function denialOf(
  checks: readonly Check[],
  index: number,
  { allowed, blocked, retryAfterMs, limit }: CheckResult,
  sentAtMs: number,
): CachedDenial | undefined {
  const check = checks[index];
  const isBlocked = blocked === true;
  if (check === undefined || allowed || (check.kind.type === 'fixed-window' && !isBlocked)) return undefined;
  return {
    cost: costUpTo(checks, index, check),
    limit,
    capacity: capacityOf(check),
    isBlocked,
    endsAtMs: sentAtMs + retryAfterMs,
  };
}

/** The cost of a check, and of those before it on the same counter: it denies them together. */
function costUpTo(checks: readonly Check[], index: number, { group, text }: Check): number {
  let sum = 0;
  for (const check of checks.slice(0, index + 1)) {
    if (check.group === group && check.text === text) sum += check.cost;
  }
  return sum;
}
