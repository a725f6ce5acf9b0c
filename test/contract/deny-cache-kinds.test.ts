import fc from 'fast-check';
import { type Check, type CheckResult, passesAll } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { DenyCache } from '../../src/store/layers/deny-cache.js';
import { checkOn, type CounterSpec, keyOf, specs, type Use, uses } from '../support/random-checks.js';
import { timedRedis, type TimedRedis } from '../support/timed-subjects.js';
import { refundAll } from '../support/refund-all.js';

// The cache must save Redis calls, change no answer, and leave the same counters and blocks, with counters of all kinds.

const HISTORIES = Number(process.env['DENY_CACHE_RUNS'] ?? 300) * 2;

/** How long to wait before a request: so many milliseconds, or as long as the last denial said, or a millisecond less. */
type Wait = number | 'the wait of the last denial' | 'a millisecond less';

interface Step {
  readonly wait: Wait;
  readonly uses: readonly Use[];
  readonly then: 'nothing' | 'refund' | 'reset';
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    wait: fc.oneof(
      { weight: 8, arbitrary: fc.constant(0) },
      fc.constantFrom<Wait>(1, 7, 62, 300, 999, 10_001, 'the wait of the last denial', 'a millisecond less'),
    ),
    uses: fc.array(uses(), { minLength: 1, maxLength: 3 }),
    then: fc.oneof(
      { weight: 20, arbitrary: fc.constant('nothing' as const) },
      fc.constantFrom('refund' as const, 'reset' as const),
    ),
  }),
  { minLength: 5, maxLength: 60, size: 'max' },
);

/** The checks that deny a request. */
function denials(checks: readonly Check[], results: readonly CheckResult[]): CheckResult[] {
  return results.filter(({ allowed }, i) => !allowed && !checks[i]!.shadow);
}

describe('the deny cache on Redis, with counters of all kinds', () => {
  let cached: TimedRedis;
  let plain: TimedRedis;
  let cache: DenyCache;
  let requests = 0;
  let calls = 0;

  beforeAll(async () => {
    cached = await timedRedis();
    plain = await timedRedis(cached.clock);
  });
  afterAll(() => Promise.all([cached.stop(), plain.stop()]));

  function newCache(): DenyCache {
    const counting: Store = {
      ...cached.store,
      consume: (...args) => {
        calls++;
        return cached.store.consume(...args);
      },
    };
    return new DenyCache(counting, () => cached.clock.nowMs);
  }

  async function play({ uses, then }: Step, list: readonly CounterSpec[]): Promise<number> {
    const checks = uses.map((use) => checkOn(list, use, cached.clock.nowMs));
    const [ours, redis] = [await cache.consume(checks, true), await plain.store.consume(checks, true)];
    requests++;
    expect(passesAll(checks, ours)).toBe(passesAll(checks, redis));
    const denied = denials(checks, ours);
    for (const { name, used, retryAfterMs } of denied) {
      // what the cache denies, Redis denies too
      const ofRedis = denials(checks, redis).filter((one) => one.name === name);
      expect(ofRedis).not.toEqual([]);
      // and not for a shorter time; a count of 0 does not say when the window has opened since
      const most = Math.max(...ofRedis.map((one) => one.retryAfterMs));
      if (used > 0) expect(retryAfterMs).toBeLessThanOrEqual(most + most * 2 ** -50);
    }
    const waitMs = Math.max(0, ...denied.map(({ retryAfterMs }) => retryAfterMs));
    if (!passesAll(checks, ours)) expect(waitMs).toBeGreaterThan(0);
    else if (then === 'refund') {
      await Promise.all([refundAll(cache, checks, ours), refundAll(plain.store, checks, redis)]);
    }
    if (then === 'reset') await Promise.all([cache.reset(checks), plain.store.reset(checks)]);
    return waitMs;
  }

  async function expectSameCounters(list: readonly CounterSpec[]): Promise<void> {
    const keys = list.flatMap((_, index) => [keyOf(list, index), `${keyOf(list, index)}!offences`]);
    const [ours, redis] = await Promise.all(
      [cached, plain].map((one) => Promise.all(keys.map((key) => one.valueOf(key)))),
    );
    expect(ours).toEqual(redis);
  }

  it(`answers like Redis alone, in ${HISTORIES} random histories`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(specs(), { minLength: 1, maxLength: 4 }), steps, async (list, history) => {
        await Promise.all([cached.clear(), plain.clear()]);
        cache = newCache();
        let waitMs = 0;
        for (const step of history) {
          if (typeof step.wait === 'number') cached.clock.nowMs += step.wait;
          else if (waitMs > 0 && waitMs < 1e12)
            cached.clock.nowMs += step.wait === 'a millisecond less' ? waitMs - 1 : waitMs;
          waitMs = await play(step, list);
        }
        await expectSameCounters(list);
      }),
      { numRuns: HISTORIES, ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}) },
    );
    // the cache did save calls
    expect(calls).toBeLessThan(0.8 * requests);
  }, 300_000);
});
