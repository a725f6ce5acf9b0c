/** How a counter counts. It belongs to the identity of the counter, as its window does. */
export type CounterKind = FixedWindow | CalendarPeriod | SlidingWindow | TokenBucket | Concurrency;

/** Opens at the first charge and ends one window's length later. */
export interface FixedWindow {
  readonly type: 'fixed-window';
}

/** Ends at a boundary of the calendar. The times are milliseconds since 1970, as this process computed them for the request. */
export interface CalendarPeriod {
  readonly type: 'calendar';
  /** When the current period began. */
  readonly startsAtMs: number;
  /** When the current period ends. */
  readonly endsAtMs: number;
  /** When the next period ends. The store's clock may be in that period already. */
  readonly nextEndsAtMs: number;
}

/** A charge counts until one window's length has passed, in 16 sub-windows. */
export interface SlidingWindow {
  readonly type: 'sliding-window';
}

/** Refills `limit` units per window, up to `burst` units. */
export interface TokenBucket {
  readonly type: 'token-bucket';
  /** A whole number of at least 0. */
  readonly burst: number;
}

/** Counts what runs now: each check with a cost takes a lease, which counts until it is released or lapses. */
export interface Concurrency {
  readonly type: 'concurrency';
}

/** What blocks a client that crosses a limit. */
export interface Block {
  /**
   * The lengths of the first, second, … block, in milliseconds; the last one repeats. At least one. A block lasts at least until
   * the counter is as new.
   */
  readonly stepsMs: readonly number[];
  /** How long after the end of the last block the first step applies again. */
  readonly forgiveAfterMs: number;
}

export const FIXED_WINDOW: FixedWindow = { type: 'fixed-window' };
export const CONCURRENCY: Concurrency = { type: 'concurrency' };

/** When a lease will be released is not known, so this is the wait of a client that is denied. */
export const UNKNOWN_WAIT_MS = 1_000;

/** The most units that a counter can have: the limit, or the burst of a token bucket. A bucket without a refill has none. */
export function capacityOf({ kind, limit }: { readonly kind: CounterKind; readonly limit: number }): number {
  return kind.type === 'token-bucket' && limit > 0 ? kind.burst : limit;
}

/** The lease that a check of a concurrency counter takes, or releases. */
export function leaseOf({ lease }: { readonly lease?: string | undefined }): string {
  if (lease === undefined) throw new RangeError('a check of a concurrency counter has no lease');
  return lease;
}
