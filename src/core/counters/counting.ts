import type { CounterKind } from '../counter-kind.js';

/** Counters stop here: up to this number they are exact. */
export const MAX_UNITS = Number.MAX_SAFE_INTEGER;

/** What tells how a counter counts: the parts of its check that all its checks have in common, and the limit. */
export interface CounterOf<K extends CounterKind = CounterKind> {
  readonly kind: K;
  readonly windowMs: number;
  /** Units allowed in a window; of a bucket, the units that flow in per window. */
  readonly limit: number;
  /** The lease that the check takes, if it counts what runs now. */
  readonly lease?: string | undefined;
}

/** What a request really used of a check, after it was charged an estimate. */
export interface Settlement {
  /** Which window, sub-window or bucket was charged. */
  readonly token: number;
  /** Units that were charged. */
  readonly charged: number;
  /** What the request really used. */
  readonly cost: number;
}

/** How many units count after a settlement in the same window: never below 0, and never more than can be exact. */
export function unitsAfter(used: number, { charged, cost }: Pick<Settlement, 'charged' | 'cost'>): number {
  return Math.max(0, Math.min(used + (cost - charged), MAX_UNITS));
}

/**
 * How the counters of one kind count: the twin of `lua/consume-mixed.lua`, to the millisecond. All functions are pure: what
 * changes a counter returns its next state. `undefined` is a counter that counts nothing, which is as good as none.
 */
export interface Counting<K extends CounterKind, S> {
  /** The state itself, unless it is from the future, because the clock was set back: then it counts as one of now. */
  mend(state: S, of: CounterOf<K>, nowMs: number): S;

  /** The state at a time, without what counts no more. All functions below need such a state. */
  at(state: S, of: CounterOf<K>, nowMs: number): S | undefined;

  /** Units that count. */
  used(state: S): number;

  charge(state: S | undefined, units: number, of: CounterOf<K>, nowMs: number): S;

  /** What a settlement needs to know of a charge at this time, given the state after it. */
  token(state: S, of: CounterOf<K>, nowMs: number): number;

  /** Refunds or charges the difference to the real cost in the sub-window, window or bucket of the charge. */
  settle(state: S | undefined, settlement: Settlement, of: CounterOf<K>, nowMs: number): S | undefined;

  /** Milliseconds until the counter is as new. */
  resetAfterMs(state: S, of: CounterOf<K>, nowMs: number): number;

  /** Milliseconds until the state holds nothing that matters; default: until the counter is as new. */
  keptForMs?(state: S, of: CounterOf<K>, nowMs: number): number;

  /** Milliseconds until `need` of its units count no more. If it has not so many, until it is as new, or for a window. */
  retryAfterMs(state: S | undefined, need: number, of: CounterOf<K>, nowMs: number): number;

  /** The longest time that any counter takes until it is as new. */
  longestMs(of: CounterOf<K>, nowMs: number): number;
}
