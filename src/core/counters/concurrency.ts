import { type Concurrency, UNKNOWN_WAIT_MS } from '../counter-kind.js';
import type { CounterOf, Counting } from './counting.js';

export interface Lease {
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
  mend({ leases }, { windowMs }, nowMs) {
    const latestMs = nowMs + windowMs;
    return {
      leases: leases.map((lease) => (lease.endsAtMs > latestMs ? { ...lease, endsAtMs: latestMs } : lease)),
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
  keptForMs: ({ leases }, _of, nowMs) => (leases.at(-1)?.endsAtMs ?? nowMs) - nowMs + 1,
  longestMs: ({ windowMs }) => windowMs,
};

/** Gives the lease of a check its full life again, also if it has lapsed. Returns whether it was still there. */
export function renewLease(
  state: LeasesState | undefined,
  of: CounterOf,
  nowMs: number,
): { readonly state: LeasesState; readonly wasThere: boolean } {
  const id = leaseOf(of);
  const others = state?.leases.filter((lease) => lease.id !== id) ?? [];
  return {
    state: { leases: [...others, { id, endsAtMs: nowMs + of.windowMs }] },
    wasThere: others.length < (state?.leases.length ?? 0),
  };
}

function leaseOf({ lease }: CounterOf): string {
  if (lease === undefined) throw new RangeError('a check of a concurrency counter has no lease');
  return lease;
}
