import type { TokenBucket } from '../counter-kind.js';
import { type CounterOf, type Counting, MAX_UNITS } from './counting.js';

/** An amount in a bucket: whole units, and parts of 1 / windowMs of a unit. So it is exact. */
interface Amount {
  readonly units: number;
  readonly part: number;
}

/** The amount that was taken out of a bucket and has not flowed in again, at a time. */
export interface BucketState extends Amount {
  readonly sinceMs: number;
}

/** Refills `limit` units per window, up to `burst` units. */
export const tokenBucket: Counting<TokenBucket, BucketState> = {
  mend: (state, _of, nowMs) => (state.sinceMs > nowMs ? { ...state, sinceMs: nowMs } : state),
  at(state, of, nowMs) {
    const amount = minus(state, flowIn(nowMs - state.sinceMs, of), of);
    return amount && { ...amount, sinceMs: nowMs };
  },
  used: ceil,
  charge: (state, units, _of, nowMs) => ({
    sinceMs: nowMs,
    units: (state?.units ?? 0) + units,
    part: state?.part ?? 0,
  }),
  token: (_state, _of, nowMs) => nowMs,
  /** Time has refunded a part of the charge already: what has flowed in since then. A debt is paid by time, from now on. */
  settle(state, { token, charged, cost }, of, nowMs) {
    const { units = 0, part = 0 } = state ?? {};
    if (cost > charged)
      return { units: Math.min(units + (cost - charged), MAX_UNITS - Math.sign(part)), part, sinceMs: nowMs };
    if (state === undefined) return undefined;
    const flow = flowIn(Math.max(nowMs - token, 0), of);
    const left = minus({ units: charged, part: 0 }, flow, of);
    if (left === undefined) return state;
    const refunded = left.units >= charged - cost ? { units: charged - cost, part: 0 } : left;
    const amount = minus(state, refunded, of);
    return amount && { ...amount, sinceMs: nowMs };
  },
  resetAfterMs: (state, of) => timeToFlowIn(state, of),
  retryAfterMs(state, need, of) {
    if (state === undefined) return of.windowMs;
    const { part } = state;
    return need > ceil(state)
      ? timeToFlowIn(state, of)
      : timeToFlowIn({ units: part > 0 ? need - 1 : need, part }, of);
  },
  longestMs: (of) => (of.kind.burst === Infinity ? 0 : timeToFlowIn({ units: of.kind.burst, part: 0 }, of)),
};

function ceil({ units, part }: Amount): number {
  return part > 0 ? units + 1 : units;
}

function isAbove0({ units, part }: Amount): boolean {
  return units >= 0 && units + part > 0;
}

function minus(a: Amount, b: Amount, { windowMs }: CounterOf): Amount | undefined {
  let [units, part] = [a.units - b.units, a.part - b.part];
  if (part < 0) [units, part] = [units - 1, part + windowMs];
  return isAbove0({ units, part }) ? { units, part } : undefined;
}

/** What flows in in some time. Exact, except for windows of more than a hundred years: there it may be a little less. */
function flowIn(elapsedMs: number, { windowMs, limit }: CounterOf): Amount {
  const refill = Math.min(limit, MAX_UNITS);
  const flow = elapsedMs * refill;
  if (flow <= MAX_UNITS) return divide(flow, windowMs);
  const [rest, more] = [elapsedMs % windowMs, refill % windowMs];
  const whole = ((elapsedMs - rest) / windowMs) * refill + ((refill - more) / windowMs) * rest;
  const { units, part } = divideProduct(rest, more, windowMs);
  return { units: whole + units, part };
}

function divide(product: number, by: number): Amount {
  const part = product % by;
  return { units: (product - part) / by, part };
}

/** Products of two numbers below this are computed exactly, in steps of 10 bits. */
const EXACT_BELOW = 2 ** 42;
/** Rounds down by more than the errors of the other operations. */
const ROUND_DOWN = 1 - 2 ** -50;

/** `a * b / by`, for `a` and `b` below `by`. */
function divideProduct(a: number, b: number, by: number): Amount {
  if (a * b <= MAX_UNITS) return divide(a * b, by);
  if (by > EXACT_BELOW) {
    const quotient = (a / by) * b * ROUND_DOWN;
    return { units: Math.floor(quotient), part: Math.floor((quotient % 1) * by) };
  }
  let [units, part] = [0, 0];
  for (let place = 2 ** 40; place >= 1; place /= 1024) {
    const digit = Math.floor(b / place) % 1024;
    const step = divide(part * 1024 + digit * a, by);
    units = units * 1024 + step.units;
    part = step.part;
  }
  return { units, part };
}

/** How long an amount takes to flow in. */
function timeToFlowIn({ units, part }: Amount, of: CounterOf): number {
  const { windowMs } = of;
  const refill = Math.min(of.limit, MAX_UNITS);
  if (units <= 0 && part <= 0) return 0;
  if (refill === 0) return windowMs;
  const product = units * windowMs + part;
  if (product <= MAX_UNITS) return ceil(divide(product, refill));
  let waitMs = Math.floor((units / refill) * windowMs + part / refill) - 1;
  for (let i = 0; i < 4; i++) {
    const flow = flowIn(waitMs, of);
    if (flow.units > units || (flow.units === units && flow.part >= part)) break;
    waitMs++;
  }
  return Math.min(waitMs, MAX_UNITS);
}
