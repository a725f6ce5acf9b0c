import type { Check, CheckResult } from '../../src/core/check.js';
import type { MaybePromise } from '../../src/core/maybe-promise.js';

type Settle<R> = (checks: readonly Check[], results: readonly CheckResult[], costs: readonly number[]) => R;

/** Settles checks as if their request had cost nothing: all that they were charged is refunded. */
export function refundAll<R extends MaybePromise<CheckResult[]>>(
  store: { readonly settle: Settle<R> },
  checks: readonly Check[],
  results: readonly CheckResult[],
): R {
  return store.settle(
    checks,
    results,
    checks.map(() => 0),
  );
}
