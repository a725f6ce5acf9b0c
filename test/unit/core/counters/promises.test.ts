import fc from 'fast-check';
import type { CounterKind } from '../../../../src/core/counter-kind.js';
import { type CountedCheck, newCounter } from '../../../../src/core/counters/counter.js';
import { decide, settle } from '../../../../src/core/counters/decide.js';

// What each kind promises, on random histories: how much passes in an interval. Refunded requests do not count.

const RUNS = Number(process.env['PROMISE_RUNS'] ?? 1_000);

interface Passed {
  /** By a clock that was never set back. */
  readonly realMs: number;
  readonly atMs: number;
  readonly cost: number;
}

const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) },
      fc.integer({ min: 0, max: 300 }),
    ),
    cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 9 })),
    countDenied: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.boolean()),
    /** Refunds an earlier request, first. */
    refunds: fc.option(fc.nat(), { freq: 4 }),
    setBackMs: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 1_000 })),
  }),
  { minLength: 10, maxLength: 120, size: 'max' },
);
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

const limits = fc.integer({ min: 0, max: 12 });
const windows = fc.oneof(fc.constantFrom(1, 2, 15, 16, 17, 160), fc.integer({ min: 1, max: 400 }));

/** With refunds, or with a clock that is set back: a token is a time, so a refund after that may be of another charge. */
const WAYS = ['refunds', 'clock set back'] as const;
type Way = (typeof WAYS)[number];

/** Plays a history on one counter. Returns the requests that passed and were not refunded. */
function play(kind: CounterKind, windowMs: number, limit: number, history: Steps, way: Way): Passed[] {
  const counter = newCounter();
  const passed: (Passed & { check: CountedCheck; token: number | undefined })[] = [];
  let [realMs, atMs] = [1_000_000, 1_000_000];
  for (const { afterMs, cost, countDenied, refunds, setBackMs } of history) {
    realMs += afterMs;
    atMs += afterMs - (way === 'clock set back' ? setBackMs : 0);
    if (way === 'refunds' && refunds !== null && passed.length > 0) {
      const [{ check, token }] = passed.splice(refunds % passed.length, 1) as [(typeof passed)[number]];
      if (token !== undefined) settle(check, counter, { token, cost: 0 }, atMs);
    }
    const check = { kind, windowMs, limit, cost, countDenied, shadow: false, block: undefined };
    const [decision] = decide([check], [counter], atMs);
    if (decision!.allowed) passed.push({ realMs, atMs, cost, check, token: decision!.token });
  }
  return passed;
}

/**
 * The most that passed in any interval beyond what it may have.
 * @param mostIn what may pass in an interval of this length, both ends included
 */
function worstExcess(passed: readonly Passed[], mostIn: (ms: number) => number): number {
  let worst = -Infinity;
  for (let from = 0; from < passed.length; from++) {
    let units = 0;
    for (const { realMs, cost } of passed.slice(from)) {
      units += cost;
      worst = Math.max(worst, units - mostIn(realMs - passed[from]!.realMs));
    }
  }
  return worst;
}

describe.each(WAYS)('a counter with %s', (way) => {
  it('as a sliding window lets at most the limit pass in any interval of its length', () => {
    fc.assert(
      fc.property(windows, limits, steps, (windowMs, limit, history) => {
        const passed = play({ type: 'sliding-window' }, windowMs, limit, history, way);
        expect(worstExcess(passed, (ms) => (ms <= windowMs ? limit : Infinity))).toBeLessThanOrEqual(0);
      }),
      { numRuns: RUNS },
    );
  });

  it('as a token bucket lets at most its burst and what flows in pass in any interval', () => {
    fc.assert(
      fc.property(windows, limits, limits, steps, (windowMs, limit, burst, history) => {
        const passed = play({ type: 'token-bucket', burst }, windowMs, limit, history, way);
        // whole units, so that no product is rounded
        expect(worstExcess(passed, (ms) => burst + Math.floor((limit * ms) / windowMs))).toBeLessThanOrEqual(
          0,
        );
      }),
      { numRuns: RUNS },
    );
  });

  it('as a fixed window lets at most twice the limit pass in any interval of its length', () => {
    fc.assert(
      fc.property(windows, limits, steps, (windowMs, limit, history) => {
        const passed = play({ type: 'fixed-window' }, windowMs, limit, history, way);
        expect(worstExcess(passed, (ms) => (ms <= windowMs ? 2 * limit : Infinity))).toBeLessThanOrEqual(0);
      }),
      { numRuns: RUNS },
    );
  });

  it('as a fixed window lets at most the limit pass from its opening to its end', () => {
    fc.assert(
      fc.property(windows, limits, steps, (windowMs, limit, history) => {
        const charges = history.map((step) => ({ ...step, countDenied: false, refunds: null }));
        let [endsAtMs, units] = [-1, 0];
        for (const { atMs, cost } of play({ type: 'fixed-window' }, windowMs, limit, charges, 'refunds')) {
          if (cost === 0) continue;
          if (atMs > endsAtMs) [endsAtMs, units] = [atMs + windowMs, 0];
          units += cost;
          expect(units).toBeLessThanOrEqual(limit);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('as a calendar window lets at most the limit pass in a period', () => {
    fc.assert(
      fc.property(windows, limits, steps, (windowMs, limit, history) => {
        const startsAtMs = 1_000_000 - (limit % windowMs);
        const endsAtMs = startsAtMs + windowMs;
        const kind = { type: 'calendar', startsAtMs, endsAtMs, nextEndsAtMs: endsAtMs + windowMs } as const;
        const periods = new Map<number, number>();
        for (const { atMs, cost } of play(kind, windowMs, limit, history, 'refunds')) {
          const period = Math.floor((atMs - startsAtMs) / windowMs);
          periods.set(period, (periods.get(period) ?? 0) + cost);
        }
        for (const units of periods.values()) expect(units).toBeLessThanOrEqual(limit);
      }),
      { numRuns: RUNS },
    );
  });
});
