import type { CheckResult, Source } from './check.js';

/** The decision on a request: allowed or denied, with the result of each rule. */
export interface Verdict {
  /** Whether all rules allow the request. Shadow rules are ignored. */
  readonly allowed: boolean;
  /** The result of each rule, in the order of the rules. */
  readonly results: readonly CheckResult[];
  /**
   * The most restrictive result, for places with room for one: of the rules that deny, the one with the longest wait;
   * else the one with the least remaining. `undefined` if no rule applied, apart from shadow rules.
   */
  readonly tightest: CheckResult | undefined;
  /**
   * Where the decision comes from: `'store'` if all rules have their counters; `'allow'` or `'memory'` if Redis could
   * not answer for some rule, `'allow'` if both occur; `'none'` if no rule applied.
   */
  readonly source: Source;
}

/** The verdict of a request without rules. */
export const UNLIMITED: Verdict = Object.freeze({
  allowed: true,
  results: Object.freeze([]),
  tightest: undefined,
  source: 'none',
});

/** Combines the results of a request into its verdict. */
export function toVerdict(results: readonly CheckResult[]): Verdict {
  let tightest: CheckResult | undefined;
  let source: Source = 'store';
  for (const result of results) {
    if (result.shadow === true) continue;
    if (tightest === undefined || isTighter(result, tightest)) tightest = result;
    if (result.source !== 'store' && result.source !== 'none' && source !== 'allow') ({ source } = result);
  }
  return { allowed: tightest?.allowed ?? true, results, tightest, source };
}

/** Whether result `a` is more restrictive than result `b`. */
export function isTighter(a: CheckResult, b: CheckResult): boolean {
  if (hasNoCounter(a) || hasNoCounter(b)) return !hasNoCounter(a);
  if (a.allowed !== b.allowed) return b.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  return a.remaining < b.remaining || (a.remaining === b.remaining && a.resetAfterMs > b.resetAfterMs);
}

/** Whether the numbers of a result have no meaning. */
function hasNoCounter({ source }: CheckResult): boolean {
  return source === 'allow' || source === 'none';
}
