import type { Check, CheckResult } from '../core/check.js';
import type { Verdict } from '../core/verdict.js';
import type { LapseReason, Leases } from './held-leases.js';
import type { LeaseKeeper } from './lease-keeper.js';

/** What the function of `FreqLimitService.hold` gets. */
export interface Held {
  /** The decision, with a result for each check. */
  readonly verdict: Verdict;
  /**
   * Aborts if the slot may be lost: it could not be renewed for 15 seconds, or the application shuts down. Stop the work then,
   * or others may run in its place at the same time.
   */
  readonly signal: AbortSignal;
}

/** What `FreqLimitService.hold` returns: the value of the function, if it ran. */
export type HoldResult<T> =
  | {
      /** Whether all checks allowed it, and the function ran. */
      readonly allowed: true;
      /** The decision, with a result for each check. */
      readonly verdict: Verdict;
      /** The value that the function returned. */
      readonly value: T;
    }
  | {
      /** Whether all checks allowed it, and the function ran. */
      readonly allowed: false;
      /** The decision, with a result for each check. */
      readonly verdict: Verdict;
    };

const REASONS: Record<LapseReason, string> = {
  lapsed: 'The slot could not be renewed in time, so others may take it',
  shutdown: 'The application shuts down, so the slot is released',
};

/** The leases that are held while a function runs. */
interface Work {
  readonly checks: readonly Check[];
  readonly results: readonly CheckResult[];
  readonly verdict: Verdict;
  /** When the call that took the leases was made, by the keeper's clock. */
  readonly takenAtMs: number;
}

/** Runs a function with leases. Releases them when it has returned, resolved or failed. */
export async function runHeld<T>(
  keeper: LeaseKeeper,
  { checks, results, verdict, takenAtMs }: Work,
  run: (held: Held) => T | PromiseLike<T>,
): Promise<T> {
  const abort = new AbortController();
  let leases: Leases | undefined;
  if (checks.length > 0) {
    leases = keeper.hold(checks, results, {
      takenAtMs,
      isClaimed: true,
      onLapsed: (reason) => {
        abort.abort(new Error(REASONS[reason]));
      },
    });
  }
  try {
    return await run({ verdict, signal: abort.signal });
  } finally {
    leases?.release();
  }
}
