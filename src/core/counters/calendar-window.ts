import type { CalendarPeriod } from '../counter-kind.js';
import { type Counting, unitsAfter } from './counting.js';

export interface CalendarState {
  readonly used: number;
  /** The first millisecond of the next period. */
  readonly endsAtMs: number;
}

/** Ends at a boundary of the calendar. */
export const calendarWindow: Counting<CalendarPeriod, CalendarState> = {
  mend: (state, { kind }, nowMs) =>
    state.endsAtMs > latestEnd(kind, nowMs) ? { ...state, endsAtMs: endOfPeriod(kind, nowMs) } : state,
  at: (state, _of, nowMs) => (nowMs < state.endsAtMs ? state : undefined),
  used: ({ used }) => used,
  charge: (state, units, { kind }, nowMs) =>
    state === undefined
      ? { used: units, endsAtMs: endOfPeriod(kind, nowMs) }
      : { ...state, used: state.used + units },
  token: ({ endsAtMs }) => endsAtMs,
  settle(state, settlement) {
    if (state?.endsAtMs !== settlement.token) return state;
    const used = unitsAfter(state.used, settlement);
    return used > 0 ? { ...state, used } : undefined;
  },
  resetAfterMs: ({ endsAtMs }, _of, nowMs) => endsAtMs - nowMs,
  retryAfterMs: (state, _need, { kind }, nowMs) => (state?.endsAtMs ?? endOfPeriod(kind, nowMs)) - nowMs,
  longestMs: ({ kind }, nowMs) => latestEnd(kind, nowMs) - nowMs,
};

/**
 * The end of the period that the store is in. If the clock that the boundaries were computed with is off by more than a
 * period, the periods before and after the known ones are taken to be as long as these.
 */
function endOfPeriod({ startsAtMs, endsAtMs, nextEndsAtMs }: CalendarPeriod, nowMs: number): number {
  if (nowMs < startsAtMs) {
    const length = Math.max(endsAtMs - startsAtMs, 1);
    return startsAtMs - Math.floor((startsAtMs - 1 - nowMs) / length) * length;
  }
  if (nowMs < nextEndsAtMs) return nowMs < endsAtMs ? endsAtMs : nextEndsAtMs;
  const length = Math.max(nextEndsAtMs - endsAtMs, 1);
  return nextEndsAtMs + (Math.floor((nowMs - nextEndsAtMs) / length) + 1) * length;
}

/** No counter can end later, unless the clock was set back. */
function latestEnd(kind: CalendarPeriod, nowMs: number): number {
  return Math.max(kind.nextEndsAtMs, endOfPeriod(kind, nowMs));
}
