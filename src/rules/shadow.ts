import type { CheckResult } from '../core/check.js';
import type { PlannedCheck } from './to-checks.js';

/** Marks the results of shadow rules. */
export function withShadows(checks: readonly PlannedCheck[], results: readonly CheckResult[]): CheckResult[] {
  return results.map((result, i) => (checks[i]?.shadow === true ? { ...result, shadow: true } : result));
}
