import type { Check, CheckResult } from '../../core/check.js';
import { RecentMap } from './recent-map.js';

/** What a counter held when it last denied a request, and when its window ends. */
interface FullCounter {
  readonly used: number;
  readonly endsAtMs: number;
}

/** A counter that still denies is stored again each time; others are soon forgotten. */
const MAX_AGE_MS = 60_000;

/** Which checks are likely to deny, because their counters have denied recently. Only a guess: no denial depends on it. */
export class FullCounters {
  private readonly known = new RecentMap<FullCounter>(MAX_AGE_MS);

  willDeny({ key, cost, limit }: Check, nowMs: number): boolean {
    if (cost > limit) return true;
    if (this.known.size === 0) return false;
    const counter = this.known.get(key);
    return counter !== undefined && nowMs < counter.endsAtMs && counter.used + cost > limit;
  }

  /** @param sentAtMs when the call to the store began */
  learn(checks: readonly Check[], results: readonly CheckResult[], sentAtMs: number): void {
    const passes = results.every(({ allowed }) => allowed);
    checks.forEach(({ key }, i) => {
      const { allowed = true, used = 0, resetAfterMs = 0 } = results[i] ?? {};
      if (!allowed) this.known.set(key, { used, endsAtMs: sentAtMs + resetAfterMs }, sentAtMs);
      // the counter is lower now: it was refunded, or reset elsewhere
      else if (passes && this.known.size > 0) this.known.delete(key);
    });
  }
}
