import fc from 'fast-check';
import type { Check } from '../../src/core/check.js';
import { DenyCache } from '../../src/store/layers/deny-cache.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { redisSubject, type RedisSubject } from '../support/subjects.js';

// The cache must save Redis calls and change no answer.

const HISTORIES = Number(process.env['DENY_CACHE_RUNS'] ?? 300);
const WINDOW_MS = 10_000;
const NAMES = ['a', 'b', 'c', 'd'].map((name) => `${name}:${WINDOW_MS}:x`);
/** Time moves in steps that stay half a second away from the end of every window; a slower history proves nothing. */
const STEPS_MS = [0, 500, 2_000, WINDOW_MS];
const SLOWEST_MS = 250;

const checks: fc.Arbitrary<Check> = fc
  .record({
    key: fc.constantFrom(...NAMES),
    limit: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 4 }) }, fc.constant(Infinity)),
    cost: fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 3 })),
    countDenied: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  })
  .map(({ key, ...parts }) => check(key, { windowMs: WINDOW_MS, ...parts }));

const steps = fc.array(
  fc.record({
    waitMs: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.constantFrom(...STEPS_MS)),
    checks: fc.array(checks, { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 5, maxLength: 60 },
);

describe('the deny cache on Redis', () => {
  let cached: RedisSubject;
  let plain: RedisSubject;

  beforeAll(async () => {
    [cached, plain] = [await redisSubject(), await redisSubject()];
  });
  afterAll(() => Promise.all([cached.stop(), plain.stop()]));

  function counters(subject: RedisSubject): Promise<(string | null)[]> {
    return subject.client.mget(NAMES.map((name) => subject.full(name)));
  }

  it(`answers like Redis alone, in ${HISTORIES} random histories`, async () => {
    let requests = 0;
    let calls = 0;
    const counting: Store = {
      ...cached.store,
      consume: (...args) => {
        calls++;
        return cached.store.consume(...args);
      },
    };
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        await Promise.all([cached.clear(), plain.clear()]);
        let movedMs = 0;
        const cache = new DenyCache(counting, () => performance.now() + movedMs);
        const startMs = performance.now();
        for (const { waitMs, checks } of history) {
          movedMs += waitMs;
          if (waitMs > 0) await Promise.all([cached.advance(waitMs), plain.advance(waitMs)]);
          const [ours, redis] = [await cache.consume(checks), await plain.store.consume(checks)];
          fc.pre(performance.now() - startMs < SLOWEST_MS);
          requests++;
          expect(ours.every(({ allowed }) => allowed)).toBe(redis.every(({ allowed }) => allowed));
          // a counter may have more units than the cache knows, never fewer
          ours.forEach(({ used, allowed }, i) => {
            expect(used).toBeLessThanOrEqual(redis[i]!.used);
            expect(allowed || !redis[i]!.allowed).toBe(true);
          });
        }
        expect(await counters(cached)).toEqual(await counters(plain));
      }),
      { numRuns: HISTORIES },
    );
    // the cache did save calls
    expect(calls).toBeLessThan(0.9 * requests);
  }, 120_000);
});
