import type { Check, CheckResult } from '../core/check.js';
import { capacityOf, type CounterKind } from '../core/counter-kind.js';
import type { Validator } from '../core/validate.js';

// The store denies a cost above a limit, charges nothing for it and begins no block. So a request above its share gets a check
// with a lower limit, in the one call with all others, and its result gets the limit of the rule again.

export const MAX_SHARE: Validator<number> = {
  test: (value): value is number => typeof value === 'number' && value > 0 && value <= 1,
  expected: 'a number above 0 and at most 1, such as 0.5 for half of the limit',
};

/** What a counter has, apart from the share of one request. */
interface Capacity {
  readonly limit: number;
  readonly kind: CounterKind;
}

/** A check of a rule that may have `maxShare`. */
export interface ShareCheck extends Check {
  /** What its counter has, if its cost is above `maxShare`; else `undefined`. */
  readonly aboveShare: Capacity | undefined;
}

/** The most units that one request may use: at least 1. */
export function unitsOfShare(units: number, maxShare: number): number {
  // 100 * 0.29 is a little less than 29 in binary
  return Math.max(1, Math.floor(units * maxShare * (1 + 2 * Number.EPSILON)));
}

/** Makes the store deny a check whose cost is above `maxShare`. */
export function withinShare<C extends ShareCheck>(check: C, maxShare: number | undefined): C {
  if (maxShare === undefined) return check;
  const { cost, kind, limit } = check;
  const units = capacityOf({ kind, limit });
  const most = unitsOfShare(units, maxShare);
  // with 0, denying every request is what the user wants
  if (cost <= most || units === 0) return check;
  const aboveShare = { limit, kind };
  // a cost like this must not count, or one request could use up the limit
  const denied = { ...check, countDenied: false, aboveShare };
  if (kind.type !== 'token-bucket') return { ...denied, limit: most };
  // A block lasts at least as long as its bucket takes to fill up. With a block, the smaller bucket would shorten one that runs.
  return { ...denied, block: undefined, kind: { ...kind, burst: most } };
}

/** The results of checks above their share, with the limits of their rules. */
export function withShares(
  checks: readonly Pick<ShareCheck, 'aboveShare'>[],
  results: readonly CheckResult[],
): readonly CheckResult[] {
  if (checks.every(({ aboveShare }) => aboveShare === undefined)) return results;
  return results.map((result, i) => {
    const own = checks[i]?.aboveShare;
    return own === undefined ? result : toResultAboveShare(result, own);
  });
}

function toResultAboveShare(result: CheckResult, own: Capacity): CheckResult {
  const { limit } = own;
  // the rule does not apply while the store cannot answer
  if (result.source === 'allow') return { ...result, limit };
  const capacity = capacityOf(own);
  const burst = result.burst === undefined ? undefined : { burst: capacity };
  const used = result.blocked === true ? capacity : result.used;
  return {
    ...result,
    ...burst,
    limit,
    used,
    remaining: Math.max(0, capacity - used),
    aboveMaxShare: true,
  };
}
