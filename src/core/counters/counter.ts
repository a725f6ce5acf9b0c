import type { Block, CounterKind } from '../counter-kind.js';
import { type CalendarState, calendarWindow } from './calendar-window.js';
import { concurrency, type LeasesState } from './concurrency.js';
import type { CounterOf, Counting } from './counting.js';
import { type FixedState, fixedWindow } from './fixed-window.js';
import { type SlidingState, slidingWindow } from './sliding-window.js';
import { type BucketState, tokenBucket } from './token-bucket.js';

export type CounterState = FixedState | CalendarState | SlidingState | BucketState | LeasesState;

/** A counter as a store keeps it. Decisions change it. */
export interface Counter {
  /** What it counts; `undefined` while it is new or blocked. */
  state: CounterState | undefined;
  /** When the block ends; `undefined` without one. */
  blockedUntilMs: number | undefined;
  /** How often it was blocked, and the last millisecond for which that matters. */
  offences: { readonly count: number; readonly untilMs: number } | undefined;
}

/**
 * The limit of a request on a counter. All checks of a counter have the same kind and window. If their blocks or the refills of a
 * bucket differ, those of the first check of a request apply to all of them.
 */
export interface CountedCheck extends CounterOf {
  readonly cost: number;
  /** Whether this check is charged even if the request is denied. */
  readonly countDenied: boolean;
  /** Whether it only shows what it would say: it denies no request, and is charged if it allows a request that passes. */
  readonly shadow: boolean;
  /** What blocks a client that exceeds the limit. */
  readonly block: Block | undefined;
}

export function newCounter(): Counter {
  return { state: undefined, blockedUntilMs: undefined, offences: undefined };
}

const COUNTINGS = {
  'fixed-window': fixedWindow,
  calendar: calendarWindow,
  'sliding-window': slidingWindow,
  'token-bucket': tokenBucket,
  concurrency,
};

/** How a counter counts. A counter has only states of its own kind. */
export function countingOf({ kind }: CounterOf): Counting<CounterKind, CounterState> {
  return COUNTINGS[kind.type];
}

/** The state of a counter at a time. If the clock was set back, also changes the counter. */
export function stateAt(counter: Counter, of: CountedCheck, nowMs: number): CounterState | undefined {
  const { blockedUntilMs = nowMs, state } = counter;
  if (blockedUntilMs > nowMs) {
    // a check without a block does not know how long blocks are
    if (of.block !== undefined)
      counter.blockedUntilMs = Math.min(blockedUntilMs, nowMs + longestBlockMs(of, nowMs));
    return undefined;
  }
  if (state === undefined) return undefined;
  const counting = countingOf(of);
  counter.state = counting.mend(state, of, nowMs);
  return counting.at(counter.state, of, nowMs);
}

export function isBlocked({ blockedUntilMs }: Counter, nowMs: number): boolean {
  return blockedUntilMs !== undefined && blockedUntilMs > nowMs;
}

/**
 * Begins the block of a counter: it lasts its step, but at least until the counter is as new. So nothing that still counts is
 * lost with the state.
 */
export function beginBlock(
  counter: Counter,
  state: CounterState | undefined,
  of: CountedCheck,
  nowMs: number,
): boolean {
  const { block } = of;
  if (block === undefined || isBlocked(counter, nowMs)) return false;
  const { stepsMs, forgiveAfterMs } = block;
  const count = Math.min(offencesAt(counter, nowMs), stepsMs.length - 1);
  const resetAfterMs = state === undefined ? 0 : countingOf(of).resetAfterMs(state, of, nowMs);
  // a debt denies for longer than any block, and would be lost with the state
  if (resetAfterMs > longestBlockMs(of, nowMs)) return false;
  const lengthMs = Math.max(stepsMs[count] ?? 0, resetAfterMs);
  counter.blockedUntilMs = nowMs + lengthMs;
  counter.state = undefined;
  if (stepsMs.length > 1)
    counter.offences = { count: count + 1, untilMs: counter.blockedUntilMs + forgiveAfterMs };
  return true;
}

function offencesAt({ offences }: Counter, nowMs: number): number {
  return offences !== undefined && nowMs <= offences.untilMs ? offences.count : 0;
}

function longestBlockMs(of: CountedCheck, nowMs: number): number {
  return Math.max(countingOf(of).longestMs(of, nowMs), ...(of.block?.stepsMs ?? []));
}

/** From when on a counter holds nothing that matters. */
export function expiresAtMs(counter: Counter, of: CountedCheck, nowMs: number): number {
  const state = stateAt(counter, of, nowMs);
  const { blockedUntilMs = nowMs, offences } = counter;
  const untilMs = Math.max(nowMs, blockedUntilMs, (offences?.untilMs ?? 0) + 1);
  if (state === undefined) return untilMs;
  const counting = countingOf(of);
  const keptForMs = counting.keptForMs?.(state, of, nowMs) ?? counting.resetAfterMs(state, of, nowMs);
  return Math.max(untilMs, nowMs + keptForMs);
}
