import type { Check } from '../../src/core/check.js';
import { type Block, type CounterKind, FIXED_WINDOW } from '../../src/core/counter-kind.js';
import { windowPart } from '../../src/core/counter-key.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const BUCKET_WINDOW_MS = 30 * DAY_MS;

// Windows are so long that no charge expires during a test, and a bucket does not refill one unit.
const CALENDAR: CounterKind = {
  type: 'calendar',
  startsAtMs: Date.now() - DAY_MS,
  endsAtMs: Date.now() + DAY_MS,
  nextEndsAtMs: Date.now() + 2 * DAY_MS,
};
const SLIDING: CounterKind = { type: 'sliding-window' };
/** Several steps, so that there are keys that count offences. */
const LADDER: Block = { stepsMs: [HOUR_MS, 2 * HOUR_MS], forgiveAfterMs: DAY_MS };

/** How a counter of a load counts. */
export interface LoadKind {
  readonly name: string;
  /** The window in its keys. */
  readonly window: string;
  /** The parts of a check of which `units` pass. */
  parts(units: number): Partial<Check>;
}

function kindOf(name: string, window: string, parts: Partial<Check>): LoadKind {
  return { name, window, parts: (units) => ({ windowMs: HOUR_MS, limit: units, ...parts }) };
}

const HOUR = windowPart('fixed-window', HOUR_MS);
const SLIDING_HOUR = windowPart('sliding-window', HOUR_MS);

/** A fixed window without blocks, which has a script of its own. */
export const PLAIN = kindOf('plain', HOUR, { kind: FIXED_WINDOW });

export const BLOCK = kindOf('block', HOUR, { kind: FIXED_WINDOW, block: LADDER });

/** One of each kind, so that requests with several checks have all mixtures. */
export const MIXED: readonly LoadKind[] = [
  PLAIN,
  kindOf('sliding', SLIDING_HOUR, { kind: SLIDING }),
  {
    name: 'bucket',
    window: windowPart('token-bucket', BUCKET_WINDOW_MS),
    parts: (burst) => ({ windowMs: BUCKET_WINDOW_MS, limit: 1, kind: { type: 'token-bucket', burst } }),
  },
  kindOf('calendar', 'day@utc', { kind: CALENDAR }),
  BLOCK,
  kindOf('sliding-block', SLIDING_HOUR, { kind: SLIDING, block: LADDER }),
];

/** The kind of the i-th counter of a load. */
export function mixedKind(i: number): LoadKind {
  return MIXED[i % MIXED.length] ?? PLAIN;
}

/** What a counter in Redis contains: units, or a block. */
export type Stored = number | 'blocked';

/** Reads a value in Redis. */
export function storedIn(value: Buffer): Stored {
  switch (value.length) {
    case 152:
      return value.readDoubleLE(8) - value.readDoubleLE(144);
    case 24:
      // parts of a unit count as one
      return value.readDoubleLE(8) + (value.readDoubleLE(16) > 0 ? 1 : 0);
    case 19:
      return 'blocked';
    case 16:
      return value.readDoubleLE(0);
    default:
      return Number(value);
  }
}

/** The end of a key that counts how often a counter was blocked. */
export const OFFENCES = '!offences';

/**
 * Units that refunds may leave in a counter. A token bucket refills while a charge waits for its refund, and each refund
 * gives back only what has not refilled.
 */
export function leftByRefunds(key: string): number {
  return /:\d+b:/.test(key) ? 1 : 0;
}
