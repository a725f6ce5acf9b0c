import { capacityOf } from '../counter-kind.js';
import {
  beginBlock,
  type CountedCheck,
  type Counter,
  type CounterState,
  countingOf,
  isBlocked,
  stateAt,
} from './counter.js';
import { MAX_UNITS, type Settlement } from './counting.js';

/** What a check says. */
export interface Decision {
  readonly allowed: boolean;
  /** Units that count after the request; the limit while the counter is blocked. */
  readonly used: number;
  /** Milliseconds until the counter is as new, 0 if it is. */
  readonly resetAfterMs: number;
  /** Milliseconds until the check would allow the request, 0 if it does. If it never will, until the counter is as new. */
  readonly retryAfterMs: number;
  readonly isBlocked: boolean;
  /** What `settle` needs; `undefined` if the check did not charge its whole cost. */
  readonly token: number | undefined;
}

/** A counter during a request. */
interface Tally {
  readonly counter: Counter;
  /** The first check on it. Its block and refill apply to all checks, as in the script. */
  readonly of: CountedCheck;
  readonly start: CounterState | undefined;
  state: CounterState | undefined;
}

interface Step {
  readonly check: CountedCheck;
  readonly tally: Tally;
  charged: number;
  /** Units over the limit; 0 if the check allows the request. */
  readonly excess: number;
}

/**
 * Decides the checks of one request, and charges all of their counters, or none: the twin of `lua/consume-mixed.lua`.
 * @param counters the counter of each check; checks with the same key have the same one
 */
export function decide(
  checks: readonly CountedCheck[],
  counters: readonly Counter[],
  nowMs: number,
): Decision[] {
  const steps: Step[] = [];
  const decisions = checks.map((check, i) => {
    const step = charge(check, tallyOf(steps, check, counters[i], nowMs), nowMs);
    steps.push(step);
    return toDecision(step, nowMs);
  });
  const denied = steps.some(({ check, excess }) => excess > 0 && !check.shadow);
  if (denied) takeBack(steps, nowMs);
  let hasBegun = false;
  for (const { tally } of steps) save(tally);
  for (const { check, tally, excess } of steps) {
    if (excess > 0 && crosses(check))
      hasBegun = beginBlock(tally.counter, tally.state, tally.of, nowMs) || hasBegun;
  }
  return denied || hasBegun ? steps.map((step) => toDecision(step, nowMs)) : decisions;
}

/** Whether a check may begin a block: a request that could never pass does not cross the limit. */
function crosses(check: CountedCheck): boolean {
  return check.cost > 0 && check.cost <= capacityOf(check);
}

/** What `decide` would say about a check on its own; charges nothing. */
export function peek(check: CountedCheck, counter: Counter, nowMs: number): Decision {
  const tally = tallyOf([], check, counter, nowMs);
  return toDecision({ check, tally, charged: 0, excess: excessOf(check, tally, nowMs) }, nowMs);
}

/**
 * Refunds or charges the difference between what a check has charged and the real cost, given the token of its decision.
 * Changes nothing about a block.
 * @returns what the counter holds afterwards
 */
export function settle(
  check: CountedCheck,
  counter: Counter,
  { token, cost }: Pick<Settlement, 'token' | 'cost'>,
  nowMs: number,
): Decision {
  const tally = tallyOf([], check, counter, nowMs);
  if (!isBlocked(counter, nowMs)) {
    const settlement = { token, charged: check.cost, cost };
    tally.state = countingOf(check).settle(tally.state, settlement, check, nowMs);
    save(tally);
  }
  return toDecision({ check, tally, charged: 0, excess: isBlocked(counter, nowMs) ? 1 : 0 }, nowMs);
}

function tallyOf(
  steps: readonly Step[],
  check: CountedCheck,
  counter: Counter | undefined,
  nowMs: number,
): Tally {
  if (counter === undefined) throw new RangeError('a check has no counter');
  for (const { tally } of steps) if (tally.counter === counter) return tally;
  const state = stateAt(counter, check, nowMs);
  return { counter, of: check, start: state, state };
}

function excessOf(check: CountedCheck, tally: Tally, nowMs: number): number {
  const capacity = capacityOf(check);
  if (isBlocked(tally.counter, nowMs)) return capacity === Infinity ? 0 : 1;
  return Math.max(check.cost - (capacity - usedOf(tally, tally.state)), 0);
}

function charge(check: CountedCheck, tally: Tally, nowMs: number): Step {
  const excess = excessOf(check, tally, nowMs);
  const charged = isBlocked(tally.counter, nowMs) ? 0 : chargeOf(check, usedOf(tally, tally.state), excess);
  addTo(tally, charged, check, nowMs);
  return { check, tally, charged, excess };
}

/**
 * What a check charges: its cost, unless a counter is at its end. A denied charge empties a bucket, and no more. A shadow rule
 * does not count what it would deny, like a real one.
 */
function chargeOf(check: CountedCheck, used: number, excess: number): number {
  const { cost, kind, shadow, countDenied } = check;
  if (excess > 0 && shadow && !countDenied) return 0;
  if (excess > 0 && kind.type === 'token-bucket') return Math.max(capacityOf(check) - used, 0);
  return Math.min(cost, MAX_UNITS - used);
}

function addTo(tally: Tally, units: number, check: CountedCheck, nowMs: number): void {
  if (units > 0) tally.state = countingOf(check).charge(tally.state, units, check, nowMs);
}

/** Takes back the charges of a denied request, except those of checks that count denied requests. */
function takeBack(steps: readonly Step[], nowMs: number): void {
  for (const { tally } of steps) tally.state = tally.start;
  for (const step of steps) {
    if (step.check.countDenied) addTo(step.tally, step.charged, step.check, nowMs);
    else step.charged = 0;
  }
}

function save({ counter, start, state }: Tally): void {
  if (state === start) return;
  counter.state = state;
  counter.blockedUntilMs = undefined;
}

function usedOf({ of }: Tally, state: CounterState | undefined): number {
  return state === undefined ? 0 : countingOf(of).used(state);
}

function toDecision(step: Step, nowMs: number): Decision {
  const { check, tally, excess, charged } = step;
  const { counter, of, state } = tally;
  const { blockedUntilMs = 0 } = counter;
  if (blockedUntilMs > nowMs) return whileBlocked(check, excess > 0, blockedUntilMs - nowMs);
  const counting = countingOf(of);
  const used = usedOf(tally, state);
  const need = excess + used - usedOf(tally, tally.start);
  const isWhole = charged > 0 && charged === check.cost;
  return {
    allowed: excess === 0,
    used,
    resetAfterMs: state === undefined ? 0 : counting.resetAfterMs(state, of, nowMs),
    retryAfterMs: excess === 0 ? 0 : counting.retryAfterMs(state, need, of, nowMs),
    isBlocked: false,
    token: isWhole && state !== undefined ? counting.token(state, check, nowMs) : undefined,
  };
}

function whileBlocked(check: CountedCheck, denies: boolean, leftMs: number): Decision {
  const capacity = capacityOf(check);
  return {
    allowed: !denies,
    used: capacity === Infinity ? 0 : capacity,
    resetAfterMs: leftMs,
    retryAfterMs: denies ? leftMs : 0,
    isBlocked: denies,
    token: undefined,
  };
}
