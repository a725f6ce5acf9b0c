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

  /** What a refund needs to know of a charge at this time, given the state after it. */
  token(state: S, of: CounterOf<K>, nowMs: number): number;

  /** Takes back what was charged in the sub-window, window or bucket of the token. */
  refund(state: S, units: number, token: number, of: CounterOf<K>, nowMs: number): S | undefined;

  /** Milliseconds until the counter is as new. */
  resetAfterMs(state: S, of: CounterOf<K>, nowMs: number): number;

  /** Milliseconds until the state holds nothing that matters; default: until the counter is as new. */
  keptForMs?(state: S, of: CounterOf<K>, nowMs: number): number;

  /** Milliseconds until `need` of its units count no more. If it has not so many, until it is as new, or for a window. */
  retryAfterMs(state: S | undefined, need: number, of: CounterOf<K>, nowMs: number): number;

  /** The longest time that any counter takes until it is as new. */
  longestMs(of: CounterOf<K>, nowMs: number): number;
}
