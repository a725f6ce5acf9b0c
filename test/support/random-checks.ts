import fc from 'fast-check';
import type { Check } from '../../src/core/check.js';
import type { Block, CalendarPeriod, CounterKind } from '../../src/core/counter-kind.js';
import { check } from './check.js';

// Random counters of all kinds, and random checks on them.

export const MAX = Number.MAX_SAFE_INTEGER;
/** Where the periods of calendars begin. */
const ORIGIN = 1_759_999_999_000;

/** A counter: what all checks on it have in common. */
export interface CounterSpec {
  readonly type: CounterKind['type'];
  readonly windowMs: number;
  /** Of a token bucket: what flows in. Other kinds get their limit from the check. */
  readonly refill: number;
  readonly burst: number;
  readonly block: Block | undefined;
}

export interface Use {
  /** Which counter. */
  readonly at: number;
  readonly limit: number;
  readonly cost: number;
  readonly countDenied: boolean;
  readonly shadow: boolean;
}

const small = fc.integer({ min: 0, max: 8 });

const blocks: fc.Arbitrary<Block | undefined> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  fc.record({
    stepsMs: fc.array(fc.constantFrom(1, 40, 300, 1_000, 20_000), { minLength: 1, maxLength: 3 }),
    forgiveAfterMs: fc.constantFrom(1, 500, 50_000),
  }),
);

export const types = fc.constantFrom<CounterKind['type']>(
  'fixed-window',
  'calendar',
  'sliding-window',
  'token-bucket',
  'concurrency',
);

export const windows = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(1, 2, 7, 15, 16, 17, 100, 1_000, 10_000) },
  fc.constantFrom(31_536_000_000, 2 ** 52 + 1),
);

export function specs({
  hasVast = true,
  hasBlocks = true,
  hasLeases = true,
} = {}): fc.Arbitrary<CounterSpec> {
  const orVast = (...vast: number[]): fc.Arbitrary<number> =>
    hasVast ? fc.oneof({ weight: 9, arbitrary: small }, fc.constantFrom(...vast)) : small;
  return fc.record({
    type: hasLeases ? types : types.filter((type) => type !== 'concurrency'),
    windowMs: windows,
    refill: orVast(1_000, 2 ** 40 + 1, MAX, Infinity),
    burst: orVast(MAX, Infinity),
    block: hasBlocks ? blocks : fc.constant(undefined),
  });
}

export function uses({ hasVast = true, shadows = true } = {}): fc.Arbitrary<Use> {
  const rarely = fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.boolean());
  return fc.record({
    at: fc.nat(3),
    limit: hasVast ? fc.oneof({ weight: 9, arbitrary: small }, fc.constantFrom(MAX - 1, Infinity)) : small,
    cost: fc.oneof(
      { weight: 12, arbitrary: fc.constant(1) },
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 10 }) },
      ...(hasVast ? [fc.constantFrom(2 ** 52, MAX)] : []),
    ),
    countDenied: rarely,
    shadow: shadows ? rarely : fc.constant(false),
  });
}

/** By how many periods the clock of a process is off, by which it computes the period of a calendar. */
export const skews = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.integer({ min: -1, max: 1 }));

/** The n-th boundary of a calendar whose periods are not of one length. */
function boundary(n: number, lengthMs: number): number {
  return ORIGIN + n * lengthMs + (n % 2 === 0 ? 0 : Math.floor(lengthMs / 3));
}

/** The period of a calendar at a time, or some periods later. */
export function periodAt(nowMs: number, lengthMs: number, skew = 0): CalendarPeriod {
  let n = Math.floor((nowMs - ORIGIN) / lengthMs);
  if (boundary(n, lengthMs) > nowMs) n--;
  const [startsAtMs, endsAtMs, nextEndsAtMs] = [0, 1, 2].map((more) => boundary(n + skew + more, lengthMs));
  return {
    type: 'calendar',
    startsAtMs: Math.max(startsAtMs!, 0),
    endsAtMs: endsAtMs!,
    nextEndsAtMs: nextEndsAtMs!,
  };
}

function kindOf({ type, windowMs, burst }: CounterSpec, nowMs: number, skew: number): CounterKind {
  if (type === 'calendar') return periodAt(nowMs, lengthOf(windowMs), skew);
  return type === 'token-bucket' ? { type, burst } : { type };
}

/** A date of more than the year 10000 is of no use. */
function lengthOf(windowMs: number): number {
  return Math.min(windowMs, 31_536_000_000);
}

let leases = 0;

/** A check on one of the counters of a list. */
export function checkOn(list: readonly CounterSpec[], use: Use, nowMs: number, skew = 0): Check {
  const index = use.at % list.length;
  const spec = list[index]!;
  const { type } = spec;
  const isLease = type === 'concurrency';
  const block = isLease ? undefined : spec.block;
  const countDenied = use.countDenied && !isLease;
  // a shadow rule has no block
  const shadow = use.shadow && block === undefined;
  const kind = kindOf(spec, nowMs, skew);
  const windowMs = kind.type === 'calendar' ? kind.endsAtMs - kind.startsAtMs : spec.windowMs;
  const isPlain = type === 'fixed-window' && block === undefined;
  const limit = type === 'token-bucket' ? spec.refill : use.limit;
  // lua/consume.lua refunds nothing to a plain counter that has reached its end
  const most = isPlain && (countDenied || limit === Infinity) ? 1_000 : MAX;
  const cost = Math.min(use.cost, isLease ? 1 : most);
  return check(keyOf(list, index), {
    group: 'random',
    windowMs,
    kind,
    limit,
    cost,
    block,
    countDenied,
    shadow,
    lease: isLease ? `lease-${++leases}` : undefined,
  });
}

/** The key of a counter of a list. */
export function keyOf(list: readonly CounterSpec[], index: number): string {
  return `${list[index]!.type}:${index}`;
}
