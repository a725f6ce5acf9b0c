import fc from 'fast-check';
import { type Check, passesAll } from '../../src/core/check.js';
import type { CounterKind } from '../../src/core/counter-kind.js';
import { check } from '../support/check.js';
import { checkOf } from '../support/kind-checks.js';
import { periodAt } from '../support/random-checks.js';
import type { TimedSubject } from '../support/timed-subjects.js';
import { refundAll } from '../support/refund-all.js';

// What each kind promises, for any history of requests, alone and several at a time, with denials that count and with refunds.

const RUNS = Number(process.env['PROMISE_RUNS'] ?? 80);

const turns = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 2, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) },
      fc.integer({ min: 0, max: 300 }),
    ),
    costs: fc.array(fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 9 })), {
      minLength: 1,
      maxLength: 8,
    }),
    countDenied: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.boolean()),
    isRefunded: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  }),
  { minLength: 5, maxLength: 40, size: 'max' },
);
type Turns = typeof turns extends fc.Arbitrary<infer T> ? T : never;

const limits = fc.integer({ min: 0, max: 12 });
const windows = fc.oneof(fc.constantFrom(1, 2, 15, 16, 17, 160), fc.integer({ min: 1, max: 400 }));

interface Passed {
  readonly atMs: number;
  readonly cost: number;
}

/**
 * The most that passed in any interval beyond what may pass.
 * @param mostIn what may pass in an interval of this length, both ends included
 */
function worstExcess(passed: readonly Passed[], mostIn: (ms: number) => number): number {
  let worst = 0;
  for (const [i, from] of passed.entries()) {
    let units = 0;
    for (const { atMs, cost } of passed.slice(i)) {
      units += cost;
      worst = Math.max(worst, units - mostIn(atMs - from.atMs));
    }
  }
  return worst;
}

export function describePromises(name: string, start: () => Promise<TimedSubject>): void {
  describe(`the promise, in the ${name} store,`, () => {
    let subject: TimedSubject;
    let serial = 0;

    beforeAll(async () => {
      subject = await start();
    });
    afterAll(() => subject.stop());

    /** Plays a history on one counter. Returns the requests that passed and were not refunded. */
    async function play(history: Turns, of: (parts: Partial<Check>) => Check): Promise<Passed[]> {
      const { store, clock } = subject;
      const passed: Passed[] = [];
      for (const { afterMs, costs, countDenied, isRefunded } of history) {
        clock.nowMs += afterMs;
        const requests = costs.map((cost) => [of({ cost, countDenied })]);
        const all = await Promise.all(requests.map(async (checks) => store.consume(checks, true)));
        for (const [i, results] of all.entries()) {
          if (!passesAll(requests[i]!, results)) continue;
          if (isRefunded) await refundAll(store, requests[i]!, results);
          else passed.push({ atMs: clock.nowMs, cost: costs[i]! });
        }
      }
      return passed;
    }

    const counter = (kind: CounterKind | (() => CounterKind), parts: Partial<Check>) => {
      const key = `promise-${++serial}`;
      return (more: Partial<Check>): Check =>
        check(key, { ...parts, ...more, kind: typeof kind === 'function' ? kind() : kind });
    };

    const assert = <T extends unknown[]>(property: fc.IAsyncProperty<T>): Promise<void> =>
      Promise.resolve(fc.assert(property, { numRuns: RUNS }));

    it('of a sliding window holds: no interval of its length has more than the limit', async () => {
      await assert(
        fc.asyncProperty(windows, limits, turns, async (windowMs, limit, history) => {
          const passed = await play(history, counter({ type: 'sliding-window' }, { windowMs, limit }));
          expect(worstExcess(passed, (ms) => (ms <= windowMs ? limit : Infinity))).toBe(0);
        }),
      );
    }, 60_000);

    it('of a token bucket holds: at most the burst and what flows in', async () => {
      await assert(
        fc.asyncProperty(windows, limits, limits, turns, async (windowMs, limit, burst, history) => {
          const passed = await play(history, counter({ type: 'token-bucket', burst }, { windowMs, limit }));
          expect(worstExcess(passed, (ms) => burst + Math.floor((limit * ms) / windowMs))).toBe(0);
        }),
      );
    }, 60_000);

    it('of a fixed window holds: at most the limit from its opening to its end', async () => {
      await assert(
        fc.asyncProperty(windows, limits, turns, async (windowMs, limit, history) => {
          const plain = history.map((turn) => ({ ...turn, countDenied: false, isRefunded: false }));
          const passed = await play(plain, counter({ type: 'fixed-window' }, { windowMs, limit }));
          let [endsAtMs, units] = [-Infinity, 0];
          for (const { atMs, cost } of passed.filter((one) => one.cost > 0)) {
            if (atMs > endsAtMs) [endsAtMs, units] = [atMs + windowMs, 0];
            units += cost;
            expect(units).toBeLessThanOrEqual(limit);
          }
        }),
      );
    }, 60_000);

    it('of a calendar holds: at most the limit between two boundaries, though clocks differ', async () => {
      await assert(
        fc.asyncProperty(
          windows,
          limits,
          turns,
          fc.constantFrom(-1, 0),
          async (windowMs, limit, history, skew) => {
            const period = (): CounterKind => periodAt(subject.clock.nowMs, windowMs, skew);
            const passed = await play(history, counter(period, { windowMs, limit }));
            const periods = new Map<number, number>();
            for (const { atMs, cost } of passed) {
              const { endsAtMs } = periodAt(atMs, windowMs);
              periods.set(endsAtMs, (periods.get(endsAtMs) ?? 0) + cost);
            }
            for (const units of periods.values()) expect(units).toBeLessThanOrEqual(limit);
          },
        ),
      );
    }, 60_000);

    it.each(['fixed-window', 'calendar', 'sliding-window', 'token-bucket'] as const)(
      'of a block on a %s holds: nothing passes until it ends',
      async (type) => {
        const steps = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 3 });
        let blocks = 0;
        await assert(
          fc.asyncProperty(steps, limits, turns, async (stepsMs, limit, history) => {
            const { store, clock } = subject;
            const key = `block-${++serial}`;
            const block = { stepsMs, forgiveAfterMs: 100 };
            let endsAtMs = -Infinity;
            for (const { afterMs, costs, countDenied } of history) {
              clock.nowMs += afterMs;
              for (const cost of costs) {
                const [result] = await store.consume([
                  checkOf({ type, block }, key, clock.nowMs, { windowMs: 160, limit, cost, countDenied }),
                ]);
                if (clock.nowMs < endsAtMs) {
                  expect(result).toMatchObject({ allowed: false, blocked: true });
                  expect(clock.nowMs + result!.retryAfterMs).toBe(endsAtMs);
                } else if (result!.blocked) {
                  blocks++;
                  endsAtMs = clock.nowMs + result!.retryAfterMs;
                  expect(result!.retryAfterMs).toBeGreaterThanOrEqual(Math.min(...stepsMs));
                }
              }
            }
          }),
        );
        expect(blocks).toBeGreaterThan(RUNS / 2);
      },
      60_000,
    );
  });
}
