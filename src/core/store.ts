import type { Check, CheckResult } from './check.js';
import type { MaybePromise } from './maybe-promise.js';

/**
 * Where counters live. Every store gives the same results for the same history; `test/contract` checks this.
 *
 * A counter is identified by its key, which contains its window and its kind. Only the store's own clock counts.
 *
 * - A fixed window opens at the first request that is charged and ends `windowMs` later, whatever happens meanwhile. Its last
 *   millisecond still belongs to it.
 * - A calendar ends at the first boundary after the store's time.
 * - In a sliding window a charge counts until its whole sub-window, a sixteenth of the window, is older than the window.
 * - A token bucket refills `limit` units per window, up to its burst.
 * - A concurrency counter counts leases that checks with a cost have taken, and that are not released. A lease lapses `windowMs`
 *   after it was taken or last renewed. When one ends is not known, so the wait of a client that is denied is a second.
 */
export interface Store {
  /** Where counters are, for the line that is logged at start-up: `Redis at redis://localhost:6379/0`. Without secrets. */
  readonly place: string;

  /**
   * Decides and charges all checks of one request in one step.
   *
   * - A check allows the request if the units used, including its cost, do not exceed its limit.
   * - If all checks allow it, each is charged its cost. If one denies it, none is charged, except checks with
   *   `countDenied`, which are always charged. Checks with `shadow` deny no request. A denied request leaves no other trace,
   *   except for blocks.
   * - A check with a block that denies its request, whatever other checks say, begins it, unless its cost is 0 or above its
   *   limit. While a counter is blocked, its checks deny and charge nothing, and nothing changes the end of the block. The next
   *   block has the length of the next step, if it begins within `forgiveAfterMs` of the end of the last one.
   * - A cost of 0 charges nothing and opens no window.
   * - Checks with the same key are decided in order: the second one includes what the first has charged.
   * - A counter that has lost its expiry gets its window again.
   *
   * @param settleable whether `settle` may be called for some of the results
   * @param queuedAtMs when the request began to wait, by the clock that the store uses for waits; default: now
   * @param hooks what a layer in front of the store does with the outcome; called only if the store has to wait
   * @returns a result for each check, in the order of the checks; not a promise if the store need not wait
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` (or rejects with it) if the store does not answer
   */
  consume(
    checks: readonly Check[],
    settleable?: boolean,
    queuedAtMs?: number,
    hooks?: OutcomeHooks,
  ): MaybePromise<CheckResult[]>;

  /** What `consume` would return now, for each check on its own; charges nothing. */
  peek(checks: readonly Check[]): MaybePromise<CheckResult[]>;

  /**
   * Settles what these checks were charged, given the results that `consume` returned: what is above the real cost is refunded,
   * and what is missing is charged, whatever the limit. Only the window, period, sub-window or bucket that was charged changes: no
   * counter is created, none falls below 0, and an expired one stays expired. No block begins, and none is lifted. Each result is
   * settled at most once: a second call changes nothing. A check that was not charged has nothing to settle.
   *
   * @param costs what the request really used of each check, a whole number of at least 0; 0: all of it is refunded
   * @param isInTime whether the request still waits for its verdict, so that the settlement must end within its time
   * @returns the results as they are now; unchanged where the settlement has failed
   */
  settle(
    checks: readonly Check[],
    results: readonly CheckResult[],
    costs: readonly number[],
    isInTime?: boolean,
  ): MaybePromise<CheckResult[]>;

  /**
   * Renews the leases of these checks, which each have a `lease`. Each has its full life again, also if it had lapsed: the work
   * that it is for is still running, so the count includes it even above the limit. Throws nothing. A lease that is released
   * after this call stays released.
   *
   * @returns for each check whether its lease was still there; `undefined` where the store did not answer, so that the lease
   *   may not be renewed
   */
  renew(checks: readonly Check[]): MaybePromise<(boolean | undefined)[]>;

  /** Deletes the counters of these checks, with their blocks and how often they were blocked. Ignores checks without a counter. */
  reset(checks: readonly Check[]): MaybePromise<void>;

  /** How the store is doing. */
  health(): StoreHealth;

  /**
   * Connects, within a bounded time. Does not throw if the server cannot be reached.
   * @throws {FreqLimitError} only with `requireStore`, if its configuration is wrong; then everything is closed again
   */
  open(): Promise<void>;

  /** Releases what keeps the process alive and belongs to the store. May be called twice. */
  close(): Promise<void>;
}

/**
 * What a layer in front of a store does with the outcome of a request before the caller gets it. Each promise around the
 * store's own would cost more than what the layer does.
 */
export interface OutcomeHooks {
  /** Called with the results of the store. */
  readonly onResults?: ((results: readonly CheckResult[]) => void) | undefined;
  /** Called with the error of the store. The caller gets what it returns instead. */
  readonly onError?: ((error: unknown) => MaybePromise<CheckResult[]>) | undefined;
}

/** How a store is doing. */
export interface StoreHealth {
  /** Where the counters are. */
  readonly store: 'memory' | 'redis';
  /** Whether requests are counted in the store; while `false`, `onStoreError` applies. */
  readonly isUp: boolean;
  /** Why the store is not called, or a warning while it is up; else `undefined`. */
  readonly reason: string | undefined;
  /** When the outage began; `undefined` while the store is up. */
  readonly since: Date | undefined;
}

/** Calls the hooks for a promise of results. */
export function withHooks(
  results: Promise<CheckResult[]>,
  { onResults, onError }: OutcomeHooks = {},
): Promise<CheckResult[]> {
  return results.then((known) => {
    onResults?.(known);
    return known;
  }, onError);
}
