import type { Check, CheckResult } from './check.js';
import type { MaybePromise } from './maybe-promise.js';

/**
 * Where counters live. Every store gives the same answers to the same history; `test/contract` holds them to it.
 *
 * A counter is known by its key and lives for one window, which opens at the first visit that is charged and ends
 * `windowMs` later, whatever happens meanwhile. Its last millisecond is part of it. Only the store's own clock counts.
 */
export interface Store {
  /**
   * Decides and charges all the checks of one request in one step.
   *
   * - A check allows when what is used, this visit's cost included, is not above its limit.
   * - When every check allows, each is charged its cost. When one denies, none is, except those with `countDenied`,
   *   which are charged whatever the others say. A denied request leaves no other trace.
   * - A cost of 0 charges nothing and opens no window.
   * - Checks with one key are taken in turn: the second meets what the first has charged.
   * - A counter that is found without an end gets its window, however it came to be.
   *
   * @param refundable whether `refund` may be asked for some of it afterwards
   * @param queuedAtMs when the request began to wait, by the clock that the store uses for waits; default: now
   * @returns an answer for each check, in the order of the checks; at once where the store need not wait
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` (or rejects with it) when the store cannot answer
   */
  consume(checks: readonly Check[], refundable?: boolean, queuedAtMs?: number): MaybePromise<CheckResult[]>;

  /** What `consume` would answer now, each check on its own, without charging any. */
  peek(checks: readonly Check[]): MaybePromise<CheckResult[]>;

  /**
   * Gives back what these checks, answered so by `consume`, have charged. Only the window that was charged is touched:
   * no counter is made, none falls below 0, and what has ended stays ended. A second time gives nothing.
   *
   * @param isInTime whether the visit still waits for its verdict, and giving back must end within the visit's own time
   * @returns the answers as they are now; as they were where giving back has failed
   */
  refund(
    checks: readonly Check[],
    results: readonly CheckResult[],
    isInTime?: boolean,
  ): MaybePromise<CheckResult[]>;

  /** Forgets the counters of these checks. One without a counter is none of its business. */
  reset(checks: readonly Check[]): MaybePromise<void>;

  /** How the store is doing. */
  health(): StoreHealth;

  /** Makes ready, within a bounded time, whether the store can be reached or not. Never throws for want of a server. */
  open(): Promise<void>;

  /** Lets go of all that would keep the process alive and is the store's own. May be called twice. */
  close(): Promise<void>;
}

/** How a store is doing. */
export interface StoreHealth {
  /** Where counters are. */
  readonly store: 'memory' | 'redis';
  /** Whether it is asked; while it is not, `onStoreError` decides. */
  readonly isUp: boolean;
  /** Why the store is not called, or a warning while it is up; else `undefined`. */
  readonly reason: string | undefined;
  /** Since when it is not asked; `undefined` while it is up. */
  readonly since: Date | undefined;
}

/** Where a store tells what an operator must know. */
export interface StoreLog {
  warn(message: string): void;
  error(message: string): void;
}
