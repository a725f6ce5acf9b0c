import fc from 'fast-check';
import type { Check, CheckResult } from '../../src/core/check.js';
import { capacityOf } from '../../src/core/counter-kind.js';
import { checkOn, type CounterSpec, MAX, specs, type Use, uses } from '../support/random-checks.js';
import type { TimedSubject } from '../support/timed-subjects.js';
import { timedSuite } from '../support/timed-suite.js';

// Who waits for `retryAfterMs` passes, and a millisecond earlier does not. After `resetAfterMs` nothing counts, and a millisecond
// earlier something does.

const RUNS = Number(process.env['WAIT_RUNS'] ?? 300);

const START = 1_760_000_000_123;

const step = fc.record({
  afterMs: fc.oneof(fc.constantFrom(0, 0, 0, 1, 6, 7, 62, 63, 400, 999), fc.integer({ min: 0, max: 2_000 })),
  use: uses({ shadows: false }),
});

/** Times after this one are not exact. */
function isLong({ resetAfterMs, retryAfterMs }: CheckResult): boolean {
  return Math.max(resetAfterMs, retryAfterMs) > 2 ** 50;
}

export function describeWaits(name: string, start: () => Promise<TimedSubject>): void {
  describe(`the waits of the ${name} store`, () => {
    const subject = timedSuite(start);
    const { advance, peekOne: peek } = subject;
    let serial = 0;

    /** A check on a counter of this run; a calendar has the current period. */
    function checkOf(run: number, spec: CounterSpec, use: Use): Check {
      const one = checkOn([spec], { ...use, at: 0 }, subject.clock.nowMs);
      return { ...one, key: `${one.key}:${run}`, text: `${one.key}:${run}` };
    }

    async function expectExactRetry(of: () => Check, result: CheckResult): Promise<void> {
      advance(result.retryAfterMs - 1);
      expect(await peek(of())).toMatchObject({ allowed: false });
      advance(1);
      const [later] = await subject.store.consume([of()]);
      expect(later!.allowed).toBe(of().cost <= capacityOf(of()));
    }

    async function expectExactReset(of: () => Check, { used, resetAfterMs }: CheckResult): Promise<void> {
      if (used === 0) {
        expect(resetAfterMs).toBe(0);
        return;
      }
      // the last millisecond of a fixed window belongs to it
      advance(resetAfterMs - (of().kind.type === 'fixed-window' ? 0 : 1));
      expect((await peek(of())).used).toBeGreaterThan(0);
      advance(1);
      expect(await peek(of())).toMatchObject({ used: 0, resetAfterMs: 0 });
    }

    it('are exact to the millisecond', async () => {
      let [retries, resets] = [0, 0];
      await fc.assert(
        fc.asyncProperty(
          specs({ hasLeases: false }),
          fc.array(step, { minLength: 1, maxLength: 20, size: 'max' }),
          async (spec, history) => {
            const run = ++serial;
            // after a wait of centuries, times are not exact; no other run has these counters
            subject.clock.nowMs = START;
            let last: CheckResult | undefined;
            for (const { afterMs, use } of history) {
              advance(afterMs);
              [last] = await subject.store.consume([checkOf(run, spec, use)]);
              if (last!.allowed) continue;
              if (!isLong(last!)) {
                retries++;
                await expectExactRetry(() => checkOf(run, spec, use), last!);
              }
              return;
            }
            if (isLong(last!)) return;
            resets++;
            await expectExactReset(() => checkOf(run, spec, { ...history.at(-1)!.use, cost: 0 }), last!);
          },
        ),
        { numRuns: RUNS, ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}) },
      );
      expect(Math.min(retries, resets)).toBeGreaterThan(RUNS / 10);
    }, 120_000);

    it.each(['fixed-window', 'sliding-window', 'token-bucket', 'calendar'] as const)(
      'are bounded for a %s of any length',
      async (type) => {
        for (const windowMs of [1, 2, 15, 16, 17, 1_000, 2 ** 31, 2 ** 52, MAX]) {
          const spec: CounterSpec = { type, windowMs, refill: 1, burst: 1, block: undefined };
          const use: Use = { at: 0, limit: 1, cost: 1, countDenied: false, shadow: false };
          const run = ++serial;
          const results = [];
          for (let i = 0; i < 2; i++)
            results.push(...(await subject.store.consume([checkOf(run, spec, use)])));
          expect(results.map(({ allowed }) => allowed)).toEqual([true, false]);
          for (const { used, resetAfterMs, windowMs: lengthMs } of results) {
            expect(used).toBe(1);
            expect(resetAfterMs).toBeGreaterThan(0);
            expect(resetAfterMs).toBeLessThanOrEqual(Math.ceil((lengthMs / 16) * 17) + 1);
          }
          expect(results[1]!.retryAfterMs).toBeGreaterThan(0);
          expect(results[1]!.retryAfterMs).toBeLessThanOrEqual(results[1]!.resetAfterMs + 1);
        }
      },
    );
  });
}
