import type { CheckResult } from '../../core/check.js';
import type { CounterEntry } from './batch.js';

// If all requests of a call pass, lua/consume-mixed.lua returns what a bucket lacks in parts of 1 / window of a unit. What has
// flowed in is not a whole number of units, and by its parts the result of each check is exact.

export function isBucket({ check }: CounterEntry): boolean {
  return check.kind.type === 'token-bucket';
}

/** How many parts one unit of the counter has. */
export function partsPerUnit(counter: CounterEntry): number {
  return isBucket(counter) ? counter.windowMs : 1;
}

/** What a bucket is like that lacks `used` parts. The first check of a call says how it refills. */
export function bucketOf({
  used,
  windowMs,
  check,
}: CounterEntry): Pick<CheckResult, 'used' | 'resetAfterMs'> {
  const refill = Math.min(check.limit, Number.MAX_SAFE_INTEGER);
  return { used: divideUp(used, windowMs), resetAfterMs: divideUp(used, refill) };
}

/** Exact, unlike `Math.ceil(a / b)`. */
function divideUp(a: number, b: number): number {
  const rest = a % b;
  return (a - rest) / b + (rest > 0 ? 1 : 0);
}
