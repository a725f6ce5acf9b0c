import { type Block, capacityOf, type CounterKind } from './counter-kind.js';

/** One limit of one request: which counter to charge, how much, and up to which limit. */
export interface Check {
  /** The key of the counter in the store. Checks with the same key share a counter, and have the same window and kind. */
  readonly key: string;
  /** The start of the key, the same for all counters of one rule, window and kind. A full store removes counters of the largest group first. */
  readonly group: string;
  /**
   * The rest of the key, which differs between the counters of a group. Stores in this process look counters up by group
   * and text: a key was just put together, so a look-up by it must hash it each time.
   */
  readonly text: string;
  /** The rule's name, as headers and results show it. */
  readonly name: string;
  /**
   * Length of the window in milliseconds, a whole number of at least 1; for a calendar the length of the current period, for a
   * concurrency counter the life of a lease.
   */
  readonly windowMs: number;
  /** How the counter counts. */
  readonly kind: CounterKind;
  /**
   * Units allowed in a window, a whole number of at least 0; `Infinity` counts without a limit. For a concurrency counter the
   * leases allowed at once.
   */
  readonly limit: number;
  /**
   * Units that this request uses, a whole number of at least 0; 0 reads the counter without charging it. For a concurrency
   * counter 1 or 0.
   */
  readonly cost: number;
  /** The id of the lease that it takes, unique over all processes. Only for a concurrency counter, and needed there if the cost is 1. */
  readonly lease?: string | undefined;
  /** What happens to the counter if this check crosses its limit; `undefined`: nothing. */
  readonly block: Block | undefined;
  /** Whether this check is charged even if the request is denied. Never for a concurrency counter. */
  readonly countDenied: boolean;
  /**
   * Whether it belongs to a shadow rule, and never denies. Its counter counts what it allows, like that of any other check, and
   * its result says what it would have denied.
   */
  readonly shadow: boolean;
  /** What applies if the store cannot answer. */
  readonly onStoreError: OnStoreError;
}

/**
 * What applies to a rule if Redis cannot answer: it is down, too slow, failing over, or returns an error.
 *
 * - `'memory'`: this process counts in its own memory until Redis recovers;
 * - `'allow'`: requests pass and are not counted;
 * - `'deny'`: requests get 503, not 429.
 *
 * If the rules of a request differ, `'deny'` decides before `'memory'`, and `'memory'` before `'allow'`.
 */
export type OnStoreError = 'memory' | 'allow' | 'deny';

/**
 * Where the result of a rule comes from.
 *
 * - `'store'`: the rule's counter;
 * - `'memory'`: a counter in this process, because Redis cannot answer;
 * - `'allow'`: no counter; Redis cannot answer, and the rule's `onStoreError` is `'allow'`;
 * - `'none'`: no counter; another rule denied the request before the store was called, or no rule applied.
 *
 * For `'allow'` and `'none'` the numbers of the result have no meaning.
 */
export type Source = 'store' | 'memory' | 'allow' | 'none';

/**
 * The result of one rule for one request.
 *
 * Example: with a limit of 10 in 60 s, 20 s after the window opened and after 6 requests, `used` is 6, `remaining` is 4
 * and `resetAfterMs` is 40000.
 */
export interface CheckResult {
  /** The rule's name. */
  readonly name: string;
  /** Whether this rule allows the request. A request passes if all its rules allow it. */
  readonly allowed: boolean;
  /** Units allowed in a window; `Infinity` if the counter has no limit. */
  readonly limit: number;
  /** Length of the window in milliseconds; for a calendar the length of the current period, for a concurrency rule the life of a lease. */
  readonly windowMs: number;
  /** Units that a full token bucket contains; absent for other algorithms. `limit` units refill per window. */
  readonly burst?: number;
  /** Units that this request uses. */
  readonly cost: number;
  /**
   * Units that count now. An allowed request is included, a denied one only with `countDenied`. While the client is blocked,
   * the limit.
   */
  readonly used: number;
  /** `limit - used`, at least 0; of a token bucket `burst - used`, the whole units that it contains. */
  readonly remaining: number;
  /** Milliseconds until no units count: the window or the block ends, or the bucket is full. 0 if none count. */
  readonly resetAfterMs: number;
  /**
   * Milliseconds until this request would pass: 0 if it is allowed, else at least 1. A request whose cost is above the limit
   * never passes. The last millisecond of a fixed window belongs to it, so this is `resetAfterMs + 1` there.
   */
  readonly retryAfterMs: number;
  /** Where this result comes from. */
  readonly source: Source;
  /** `true` for a shadow rule, which counts but never denies; else absent. */
  readonly shadow?: true;
  /** `true` for a rule that limits how many requests run at once; else absent. `used` is how many run now. */
  readonly concurrency?: true;
  /**
   * `true` while `blockFor` blocks the client, also for the request that begins the block; else absent. The block ends after
   * `retryAfterMs`.
   */
  readonly blocked?: true;
  /** `true` if the request costs more than `maxShare` of the rule lets one request use, so that it never passes; else absent. */
  readonly aboveMaxShare?: true;
}

/** Makes the result of a check from the state of its counter. */
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

/** What a store says about a check on a counter of any kind. */
export interface Measured {
  readonly used: number;
  /** Milliseconds until the counter is as new; 0 if it is. */
  readonly resetAfterMs: number;
  /** Milliseconds until the check would pass; 0 if it passes. */
  readonly retryAfterMs: number;
  readonly isBlocked: boolean;
}

/** Makes the result of a check on a counter of any kind. */
export function toMeasuredResult(check: Check, measured: Measured, source: Source = 'store'): CheckResult {
  const { name, limit, windowMs, cost, kind } = check;
  const { used, resetAfterMs, retryAfterMs, isBlocked } = measured;
  const capacity = capacityOf(check);
  const result: CheckResult = {
    name,
    allowed: retryAfterMs === 0,
    limit,
    windowMs,
    ...(kind.type === 'token-bucket' ? { burst: capacity } : undefined),
    cost,
    used,
    remaining: Math.max(0, capacity - used),
    resetAfterMs,
    retryAfterMs,
    source,
  };
  if (kind.type === 'concurrency') return { ...result, concurrency: true };
  return isBlocked ? { ...result, blocked: true } : result;
}

/** Whether a settlement changes the counter of a check that was charged. A lease is always released. */
export function needsSettling({ cost, kind }: Check, realCost: number): boolean {
  return realCost !== cost || kind.type === 'concurrency';
}

/** The result of a check after a settlement: what its counter holds has changed, and what it said about the request has not. */
export function toSettledResult(
  check: Check,
  result: CheckResult,
  { used, resetAfterMs }: Pick<Measured, 'used' | 'resetAfterMs'>,
): CheckResult {
  if (isPlain(check)) return toResult(check, result.allowed, used, resetAfterMs, result.source);
  return { ...result, used, remaining: Math.max(0, capacityOf(check) - used), resetAfterMs };
}

/** Whether a request passes: all its checks allow it, apart from those of shadow rules. */
export function passesAll(checks: readonly Check[], results: readonly CheckResult[]): boolean {
  return results.every(({ allowed }, i) => allowed || checks[i]?.shadow === true);
}

/**
 * Whether a check with this result begins a block. One that could never pass does not cross the limit.
 * @param result of the check alone
 */
export function beginsBlock(
  check: Check,
  { allowed, blocked }: Pick<CheckResult, 'allowed' | 'blocked'>,
): boolean {
  const { block, cost } = check;
  return block !== undefined && cost > 0 && cost <= capacityOf(check) && !allowed && blocked !== true;
}

/** Whether a check needs nothing but a fixed window that denies: for these there is a faster script. */
export function isPlain({ kind, block, shadow }: Check): boolean {
  return kind.type === 'fixed-window' && block === undefined && !shadow;
}

/** The last millisecond of a window still belongs to it, so a request passes one millisecond later. */
function retryAfter(used: number, resetAfterMs: number, windowMs: number): number {
  return used === 0 ? windowMs : resetAfterMs + 1;
}

/**
 * The wait of a denied check in whole seconds, rounded up; at least 1. In a fixed window at most its length: the millisecond
 * that a window lasts longer, if it has just opened, would make it a second more.
 */
export function secondsToWait({ retryAfterMs, resetAfterMs, windowMs }: CheckResult): number {
  const hasJustOpened = resetAfterMs === windowMs && retryAfterMs === windowMs + 1;
  return Math.max(1, Math.ceil((hasJustOpened ? windowMs : retryAfterMs) / 1_000));
}
