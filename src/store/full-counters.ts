import type { Check, CheckResult } from '../core/check.js';
import { RecentMap } from './recent-map.js';

/** What a counter held when it last denied a request, and when its window ends. */
interface FullCounter {
  readonly used: number;
  readonly endsAtMs: number;
}

/** A counter that goes on denying is learned again each time; one that denies no more is soon forgotten. */
const MAX_AGE_MS = 60_000;

/** Which checks are likely to deny, since their counters have denied lately. A guess, on which no denial depends. */
export class FullCounters {
  private readonly known = new RecentMap<FullCounter>(MAX_AGE_MS);

  willDeny({ key, cost, limit }: Check, nowMs: number): boolean {
    if (cost > limit) return true;
    if (this.known.size === 0) return false;
    const counter = this.known.get(key);
    return counter !== undefined && nowMs < counter.endsAtMs && counter.used + cost > limit;
  }

  /** @param sentMs when the store was asked */
  learn(checks: readonly Check[], results: readonly CheckResult[], sentMs: number): void {
    const passes = results.every(({ allowed }) => allowed);
    checks.forEach(({ key }, i) => {
      const { allowed = true, used = 0, resetAfterMs = 0 } = results[i] ?? {};
      if (!allowed) this.known.set(key, { used, endsAtMs: sentMs + resetAfterMs }, sentMs);
      // it has fallen: given back or reset elsewhere
      else if (passes && this.known.size > 0) this.known.delete(key);
    });
  }
}
