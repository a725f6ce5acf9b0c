import { type Concurrency, leaseOf, UNKNOWN_WAIT_MS } from '../counter-kind.js';
import type { CounterOf, Counting } from './counting.js';

interface Lease {
  readonly id: string;
  /** In this millisecond it still counts. */
  readonly endsAtMs: number;
}

export interface LeasesState {
  /** The next to lapse first. At least one. */
  readonly leases: readonly Lease[];
}

/** Counts leases that are neither released nor lapsed. */
export const concurrency: Counting<Concurrency, LeasesState> = {
  mend(state, { windowMs }, nowMs) {
    const latestMs = nowMs + windowMs;
    if (lastEndMs(state) <= latestMs) return state;
    return {
      leases: state.leases.map(({ id, endsAtMs }) => ({ id, endsAtMs: Math.min(endsAtMs, latestMs) })),
    };
  },
  at(state, _of, nowMs) {
    const first = state.leases.findIndex(({ endsAtMs }) => nowMs <= endsAtMs);
    if (first === 0) return state;
    return first < 0 ? undefined : { leases: state.leases.slice(first) };
  },
  used: ({ leases }) => leases.length,
  charge: (state, _units, of, nowMs) => ({
    leases: [...(state?.leases ?? []), { id: leaseOf(of), endsAtMs: nowMs + of.windowMs }],
  }),
  token: () => 0,
  settle(state, _settlement, of) {
    if (state === undefined) return undefined;
    const id = leaseOf(of);
    const leases = state.leases.filter((lease) => lease.id !== id);
    return leases.length === 0 ? undefined : { leases };
  },
  resetAfterMs: () => UNKNOWN_WAIT_MS,
  retryAfterMs: () => UNKNOWN_WAIT_MS,
  keptForMs: (state, _of, nowMs) => lastEndMs(state) - nowMs + 1,
  longestMs: ({ windowMs }) => windowMs,
};

/**
 * Gives leases their full life again, also if they have lapsed.
 * @param ids of the leases, each once
 */
export function renewLeases(
  state: LeasesState | undefined,
  ids: readonly string[],
  { windowMs }: CounterOf,
  nowMs: number,
): LeasesState {
  const renewed = new Set(ids);
  const others = state?.leases.filter(({ id }) => !renewed.has(id)) ?? [];
  return { leases: [...others, ...ids.map((id) => ({ id, endsAtMs: nowMs + windowMs }))] };
}

function lastEndMs({ leases }: LeasesState): number {
  return leases.at(-1)?.endsAtMs ?? -Infinity;
}
