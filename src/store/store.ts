import type { Check, CheckResult } from '../core/check.js';
import type { MaybePromise } from '../core/maybe-promise.js';

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
   * @returns an answer for each check, in the order of the checks; at once where the store need not wait
   * @throws {FreqLimitError} `FREQ_LIMIT_STORE_FAILED` (or rejects with it) when the store cannot answer
   */
  consume(checks: readonly Check[]): MaybePromise<CheckResult[]>;

  /** What `consume` would answer now, each check on its own, without charging any. */
  peek(checks: readonly Check[]): MaybePromise<CheckResult[]>;

  /** Forgets the counters of these keys. A key without a counter is none of its business. */
  reset(keys: readonly string[]): MaybePromise<void>;

  /** Makes ready, within a bounded time, whether the store can be reached or not. Never throws for want of a server. */
  open(): Promise<void>;

  /** Lets go of all that would keep the process alive and is the store's own. May be called twice. */
  close(): Promise<void>;
}

/** Where a store tells what an operator must know. */
export interface StoreLog {
  warn(message: string): void;
  error(message: string): void;
}
