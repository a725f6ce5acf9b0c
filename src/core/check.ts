/** A rule resolved for one request: which counter to charge, and how far. */
export interface Check {
  /** Full text under which the store counts. Two checks with one key share a counter, and have one window. */
  readonly key: string;
  /** Text that the counters of one rule and window have in common; a store that has no room takes it from the largest. */
  readonly group: string;
  /** The rule's name, as headers and results show it. */
  readonly name: string;
  /** Length of the window in milliseconds, a whole number ≥ 1. */
  readonly windowMs: number;
  /** Units that may pass in a window, a whole number ≥ 0; `Infinity` only counts. */
  readonly limit: number;
  /** Units this visit consumes, a whole number ≥ 0; 0 looks without charging. */
  readonly cost: number;
  /** Whether this check is charged even when the request is denied. */
  readonly countDenied: boolean;
  /** What decides where the store cannot answer. */
  readonly onStoreError: OnStoreError;
}

/**
 * What decides about a check when the store cannot answer: down, hanging, too slow, failing over, or refusing.
 *
 * - `'memory'`: counters of this process go on limiting;
 * - `'allow'`: the check lets the visit pass, uncounted;
 * - `'deny'`: the visit is refused with 503, not 429.
 *
 * Of several in one request the strictest outcome stands: one `'deny'` refuses it, else one `'memory'` may.
 */
export type OnStoreError = 'memory' | 'allow' | 'deny';

/**
 * What answered a check: `store` — its counter; `fallback` — a counter of this process, while the store cannot answer.
 * The other two have no counter, and their numbers mean nothing: `open` — the check lets every request pass until the
 * store answers again; `none` — another check denied the request, without a call to the store.
 */
export type Source = 'store' | 'memory' | 'allow' | 'none';

/**
 * The answer to one check.
 *
 * The numbers by one example, limit 10 in 60 s, 6 used, 20 s after the window opened:
 * `used` 6, `remaining` 4, `resetAfterMs` 40000.
 */
export interface CheckResult {
  /** The rule's name. */
  readonly name: string;
  /** Whether this check lets the visit pass. The request passes when all of them do. */
  readonly allowed: boolean;
  /** Units that may pass in a window; `Infinity` where the check only counts. */
  readonly limit: number;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
  /** Units this visit asked for. */
  readonly cost: number;
  /** Units charged in the open window after this visit. An allowed visit is among them, a denied one only with `countDenied`. */
  readonly used: number;
  /** `limit - used`, never below 0. */
  readonly remaining: number;
  /** Milliseconds until the counter is gone and the window fresh; 0 where no window is open. */
  readonly resetAfterMs: number;
  /**
   * Milliseconds until this visit would pass; 0 when it is allowed, at least 1 and at most the window when it is denied.
   * A visit that costs more than the limit never passes: it reads as long as any other denied one.
   */
  readonly retryAfterMs: number;
  /** Who answered. */
  readonly source: Source;
  /** Of a shadow rule, which reports and never denies; else absent. `used` goes on counting beyond its limit. */
  readonly shadow?: true;
}

/** Builds the answer from what a store knows of a counter. */
export function toResult(
  check: Check,
  allowed: boolean,
  used: number,
  resetAfterMs: number,
  source: Source = 'store',
): CheckResult {
  const { name, limit, windowMs, cost } = check;
  return {
    name,
    allowed,
    limit,
    windowMs,
    cost,
    used,
    remaining: used < limit ? limit - used : 0,
    resetAfterMs,
    retryAfterMs: allowed ? 0 : retryAfter(used, resetAfterMs, windowMs),
    source,
  };
}

/**
 * The answer of a shadow rule. The store was asked without a limit, so that it denied nobody; here stands what the limit
 * would have said.
 * @param isCharged whether the visit is among what is used
 */
export function toShadowResult(result: CheckResult, limit: number, isCharged: boolean): CheckResult {
  const { used, resetAfterMs, windowMs, cost } = result;
  const allowed = (isCharged ? used : used + cost) <= limit;
  return {
    ...result,
    allowed,
    limit,
    remaining: Math.max(0, limit - used),
    retryAfterMs: allowed ? 0 : retryAfter(used, resetAfterMs, windowMs),
    shadow: true,
  };
}

/** A counter still denies in the last millisecond of its window, so a visit passes one millisecond after it. */
function retryAfter(used: number, resetAfterMs: number, windowMs: number): number {
  return used === 0 ? windowMs : Math.min(resetAfterMs + 1, windowMs);
}
