import type { CheckResult, Source } from './check.js';

/**
 * Who answered: `store` — the counters; `fallback` or `open` — for some check, what stands in while the store cannot
 * answer, `open` if it let one pass uncounted; `none` — nobody was asked, since no check applied.
 */
export type VerdictSource = Source;

/** The answer for a whole request. */
export interface Verdict {
  /** Whether every check lets the visit pass, shadow rules apart. */
  readonly allowed: boolean;
  /** An answer for each check, in the order of the checks. */
  readonly results: readonly CheckResult[];
  /**
   * The result that speaks for the request where there is room for one: of the denying ones the longest wait,
   * else the least remaining. `undefined` only when there are no results but those of shadow rules.
   */
  readonly tightest: CheckResult | undefined;
  /** Who answered. */
  readonly source: VerdictSource;
}

/** The answer where no check applies. */
export const UNLIMITED: Verdict = Object.freeze({
  allowed: true,
  results: Object.freeze([]),
  tightest: undefined,
  source: 'none',
});

/** Folds the answers to a request's checks into the answer to the request. */
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

/** Whether one result speaks for a request rather than another. */
export function isTighter(a: CheckResult, b: CheckResult): boolean {
  if (hasNoCounter(a) || hasNoCounter(b)) return !hasNoCounter(a);
  if (a.allowed !== b.allowed) return b.allowed;
  if (!a.allowed) return a.retryAfterMs > b.retryAfterMs;
  return a.remaining < b.remaining || (a.remaining === b.remaining && a.resetAfterMs > b.resetAfterMs);
}

/** Whether the numbers of a result mean nothing. */
function hasNoCounter({ source }: CheckResult): boolean {
  return source === 'allow' || source === 'none';
}
