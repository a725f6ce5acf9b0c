import { type Check, type CheckResult, passesAll } from '../core/check.js';

/** Checks that have taken a lease, and their results. */
export interface Taken<C extends Check> {
  readonly checks: readonly C[];
  readonly results: readonly CheckResult[];
}

/**
 * The checks of a request that have taken a lease: none if it is denied. A shadow rule whose limit is reached takes none, and
 * neither does a rule that passes because the store does not answer.
 * @param isWanted which of them
 */
export function takenBy<C extends Check>(
  checks: readonly C[],
  results: readonly CheckResult[],
  isWanted: (check: C) => boolean = () => true,
): Taken<C> {
  const passes = passesAll(checks, results);
  const isTaken = checks.map((check, i) => passes && hasTaken(check, results[i]) && isWanted(check));
  return { checks: checks.filter((_, i) => isTaken[i]), results: results.filter((_, i) => isTaken[i]) };
}

function hasTaken({ lease }: Check, result: CheckResult | undefined): boolean {
  if (lease === undefined || result?.allowed !== true) return false;
  return result.source === 'store' || result.source === 'memory';
}
