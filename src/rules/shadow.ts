import { type CheckResult, toShadowResult } from '../core/check.js';
import type { PlannedCheck } from './to-checks.js';

/** Replaces the results of shadow rules, whose checks had no limit, by the results that their limits would give. */
export function withShadows(checks: readonly PlannedCheck[], results: readonly CheckResult[]): CheckResult[] {
  const isAllowed = results.every(({ allowed }) => allowed);
  return results.map((result, i) => {
    const check = checks[i];
    if (check?.rule.shadow !== true) return result;
    return toShadowResult(result, check.ownLimit, isAllowed || check.countDenied);
  });
}
