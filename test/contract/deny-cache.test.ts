import fc from 'fast-check';
import type { Check } from '../../src/core/check.js';
import { DenyCache } from '../../src/store/layers/deny-cache.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { redisSubject, type RedisSubject } from '../support/subjects.js';

// With the cache in front, Redis must be asked less and nobody be answered otherwise.

const HISTORIES = Number(process.env['DENY_CACHE_RUNS'] ?? 300);
const WINDOW_MS = 10_000;
const NAMES = ['a', 'b', 'c', 'd'].map((name) => `${name}:${WINDOW_MS}:x`);
/** Time only goes in steps that leave half a second to every window's end; a slower history would tell nothing. */
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
    visit: fc.array(checks, { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 5, maxLength: 60 },
);

describe('the deny cache in front of Redis', () => {
  let cached: RedisSubject;
  let plain: RedisSubject;

  beforeAll(async () => {
    [cached, plain] = [await redisSubject(), await redisSubject()];
  });
  afterAll(() => Promise.all([cached.stop(), plain.stop()]));

  function counters(subject: RedisSubject): Promise<(string | null)[]> {
    return subject.client.mget(NAMES.map((name) => subject.full(name)));
  }

  it(`answers as Redis alone does, in ${HISTORIES} random histories`, async () => {
    let visits = 0;
    let asked = 0;
    const counting: Store = {
      ...cached.store,
      consume: (checks) => {
        asked++;
        return cached.store.consume(checks);
      },
    };
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        await Promise.all([cached.clear(), plain.clear()]);
        let movedMs = 0;
        const cache = new DenyCache(counting, () => performance.now() + movedMs);
        const startMs = performance.now();
        for (const { waitMs, visit } of history) {
          movedMs += waitMs;
          if (waitMs > 0) await Promise.all([cached.advance(waitMs), plain.advance(waitMs)]);
          const [ours, redis] = [await cache.consume(visit), await plain.store.consume(visit)];
          fc.pre(performance.now() - startMs < SLOWEST_MS);
          visits++;
          expect(ours.every(({ allowed }) => allowed)).toBe(redis.every(({ allowed }) => allowed));
          // a counter that others have charged since may have more in it than the cache has heard of, never less
          ours.forEach(({ used, allowed }, i) => {
            expect(used).toBeLessThanOrEqual(redis[i]!.used);
            expect(allowed || !redis[i]!.allowed).toBe(true);
          });
        }
        expect(await counters(cached)).toEqual(await counters(plain));
      }),
      { numRuns: HISTORIES },
    );
    // not a cache that knows nothing
    expect(asked).toBeLessThan(0.9 * visits);
  }, 120_000);
});
