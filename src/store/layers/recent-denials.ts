import { type Check, type CheckResult, passesAll } from '../../core/check.js';
import { capacityOf } from '../../core/counter-kind.js';
import { RecentMap } from './recent-map.js';

/** What a counter held when it last denied a request, and until when it denies the same request. */
interface DeniedCount {
  readonly used: number;
  readonly endsAtMs: number;
}

/** A counter that still denies is stored again with each denial; others are soon forgotten. */
const MAX_AGE_MS = 60_000;

/** Guesses which checks are likely to deny, because their counters have denied recently. No denial depends on it. */
export class RecentDenials {
  private readonly counts = new RecentMap<DeniedCount>(MAX_AGE_MS);

  isLikelyDenied(check: Check, nowMs: number): boolean {
    const { cost, shadow } = check;
    const capacity = capacityOf(check);
    if (shadow) return false;
    if (cost > capacity) return true;
    if (this.counts.size === 0) return false;
    const count = this.counts.get(check);
    return count !== undefined && nowMs < count.endsAtMs && count.used + cost > capacity;
  }

  /** @param sentAtMs when the call to the store began */
  learn(checks: readonly Check[], results: readonly CheckResult[], sentAtMs: number): void {
    const passes = passesAll(checks, results);
    checks.forEach((check, i) => {
      const { allowed = true, used = 0, retryAfterMs = 0 } = results[i] ?? {};
      if (!allowed && !check.shadow)
        this.counts.set(check, { used, endsAtMs: sentAtMs + retryAfterMs }, sentAtMs);
      // the counter is lower now: it was refunded, or reset elsewhere
      else if (passes && this.counts.size > 0) this.counts.delete(check);
    });
  }
}
