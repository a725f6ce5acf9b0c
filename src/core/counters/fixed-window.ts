import type { FixedWindow } from '../counter-kind.js';
import { type Counting, unitsAfter } from './counting.js';

export interface FixedState {
  readonly used: number;
  /** This millisecond still belongs to the window. */
  readonly endsAtMs: number;
}

/** Opens at the first charge and ends one window's length later. */
export const fixedWindow: Counting<FixedWindow, FixedState> = {
  mend: (state, { windowMs }, nowMs) =>
    state.endsAtMs - nowMs > windowMs ? { ...state, endsAtMs: nowMs + windowMs } : state,
  at: (state, _of, nowMs) => (nowMs <= state.endsAtMs ? state : undefined),
  used: ({ used }) => used,
  charge: (state, units, { windowMs }, nowMs) =>
    state === undefined
      ? { used: units, endsAtMs: nowMs + windowMs }
      : { ...state, used: state.used + units },
  token: ({ endsAtMs }) => endsAtMs,
  settle(state, settlement) {
    if (state?.endsAtMs !== settlement.token) return state;
    const used = unitsAfter(state.used, settlement);
    return used > 0 ? { ...state, used } : undefined;
  },
  resetAfterMs: ({ endsAtMs }, _of, nowMs) => endsAtMs - nowMs,
  // the last millisecond belongs to it
  keptForMs: ({ endsAtMs }, _of, nowMs) => endsAtMs - nowMs + 1,
  retryAfterMs: (state, _need, { windowMs }, nowMs) =>
    state === undefined ? windowMs : state.endsAtMs - nowMs + 1,
  longestMs: ({ windowMs }) => windowMs,
};
