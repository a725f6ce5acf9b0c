import type { SlidingWindow } from '../counter-kind.js';
import { type Counting, MAX_UNITS, unitsAfter } from './counting.js';

/** A window has so many sub-windows, and one more can lie in it in part. */
const SUB_WINDOWS = 16;

export interface SlidingState {
  readonly used: number;
  /** The number of the newest sub-window with a charge. */
  readonly newest: number;
  /** Units charged in that sub-window, in the one before, and so on. */
  readonly charges: readonly number[];
}

/** A charge counts until its whole sub-window is older than the window. So no interval of a window's length has more than the limit. */
export const slidingWindow: Counting<SlidingWindow, SlidingState> = {
  /** Not the current sub-window but the next one: the newest charge may be as new as a moment ago. */
  mend(state, { windowMs }, nowMs) {
    const next = subWindowAt(nowMs, windowMs) + 1;
    return state.newest > next ? { ...state, newest: next } : state;
  },
  at(state, { windowMs }, nowMs) {
    const age = ageOf(state, nowMs, windowMs);
    if (age > SUB_WINDOWS) return undefined;
    const kept = SUB_WINDOWS + 1 - age;
    if (state.charges.length <= kept) return state;
    const charges = state.charges.slice(0, kept);
    return { used: sum(charges), newest: state.newest, charges };
  },
  used: ({ used }) => used,
  charge(state, units, { windowMs }, nowMs) {
    if (state === undefined) return { used: units, newest: subWindowAt(nowMs, windowMs), charges: [units] };
    const [last = 0, ...older] = state.charges;
    const age = ageOf(state, nowMs, windowMs);
    const charges =
      age === 0 ? [last + units, ...older] : [units, ...new Array<number>(age - 1).fill(0), ...state.charges];
    return { used: state.used + units, newest: state.newest + age, charges };
  },
  token: (state, { windowMs }, nowMs) => state.newest + ageOf(state, nowMs, windowMs),
  settle(state, settlement) {
    if (state === undefined) return undefined;
    const age = state.newest - settlement.token;
    const units = state.charges[age] ?? 0;
    // what was charged in it is gone, so nothing of this request is left to settle
    if (units === 0) return state;
    const others = state.used - units;
    const settled = Math.min(unitsAfter(units, settlement), MAX_UNITS - others);
    if (others + settled === 0) return undefined;
    const charges = state.charges.map((charge, i) => (i === age ? settled : charge));
    // the newest one has a charge, or the counter would be as new later than it is
    const empty = charges.findIndex((charge) => charge > 0);
    return {
      used: others + settled,
      newest: state.newest - empty,
      charges: charges.slice(empty),
    };
  },
  resetAfterMs: ({ newest }, { windowMs }, nowMs) => endOf(newest, windowMs) - nowMs,
  retryAfterMs(state, need, { windowMs }, nowMs) {
    if (state === undefined) return windowMs;
    let free = 0;
    let age = state.charges.length;
    while (age > 0 && free < need) free += state.charges[--age] ?? 0;
    return endOf(free < need ? state.newest : state.newest - age, windowMs) - nowMs;
  },
  longestMs: ({ windowMs }) => Math.ceil((windowMs / SUB_WINDOWS) * (SUB_WINDOWS + 2)),
};

function subWindowAt(nowMs: number, windowMs: number): number {
  return Math.floor((nowMs * SUB_WINDOWS) / windowMs);
}

/** How many sub-windows have begun since the newest charge. A state from the future is of now. */
function ageOf({ newest }: SlidingState, nowMs: number, windowMs: number): number {
  return Math.max(subWindowAt(nowMs, windowMs) - newest, 0);
}

/** When the charges of a sub-window count no more. */
function endOf(subWindow: number, windowMs: number): number {
  return Math.ceil(((subWindow + SUB_WINDOWS + 1) * windowMs) / SUB_WINDOWS);
}

function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
