import { type CheckResult, passesAll, toShadowResult } from '../core/check.js';
import type { PlannedCheck } from './to-checks.js';

/** Marks the results of shadow rules. Where their checks had no limit, they become the results that their limits would give. */
export function withShadows(checks: readonly PlannedCheck[], results: readonly CheckResult[]): CheckResult[] {
  const isAllowed = passesAll(checks, results);
  return results.map((result, i) => {
    const check = checks[i];
    if (check?.rule.shadow !== true) return result;
    if (check.limit < Infinity) return { ...result, shadow: true };
    return toShadowResult(result, check.ownLimit, isAllowed || check.countDenied);
  });
}
