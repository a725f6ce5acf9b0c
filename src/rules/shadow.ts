import { type CheckResult, toShadowResult } from '../core/check.js';
import type { PlannedCheck } from './to-checks.js';

/** The answers to checks of which some are of shadow rules: those tell what their limits would have said. */
export function withShadows(checks: readonly PlannedCheck[], results: readonly CheckResult[]): CheckResult[] {
  const passes = results.every(({ allowed }) => allowed);
  return results.map((result, i) => {
    const check = checks[i];
    if (check?.rule.shadow !== true) return result;
    return toShadowResult(result, check.ownLimit, passes || check.countDenied);
  });
}
