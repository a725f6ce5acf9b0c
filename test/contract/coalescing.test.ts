import { jest } from '@jest/globals';
import fc from 'fast-check';
import type { Check, CheckResult } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from '../support/check.js';
import { clientOf, redisUrl } from '../support/redis.js';
import { quiet, redisSubject, type RedisSubject } from '../support/subjects.js';

// Requests that share a call must get the same answers as in separate calls, in the order of their arrival.

const BATCHES = Number(process.env['COALESCING_RUNS'] ?? 1_000);
const WINDOW_MS = 3_600_000;

const checks: fc.Arbitrary<Check> = fc
  .record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e').map((name) => `${name}:${WINDOW_MS}:x`),
    limit: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constant(Infinity)),
    cost: fc.oneof(
      { weight: 12, arbitrary: fc.constant(1) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 6 }) },
      fc.constantFrom(2 ** 52, Number.MAX_SAFE_INTEGER),
    ),
    countDenied: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  })
  .map(({ key, ...parts }) => check(key, { windowMs: WINDOW_MS, ...parts }));

const requests = fc.array(fc.array(checks, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 40 });

type Answer = readonly [number, boolean, number, boolean, boolean][] | string;

/** The parts of an answer that do not depend on the millisecond. */
function answer(results: readonly CheckResult[]): Answer {
  return results.map(({ limit, allowed, used, resetAfterMs, retryAfterMs }) => [
    limit,
    allowed,
    used,
    resetAfterMs > 0,
    retryAfterMs > 0,
  ]);
}

async function settle(store: Store, checks: readonly Check[]): Promise<Answer> {
  try {
    return answer(await store.consume(checks));
  } catch (error) {
    return (error as Error).message;
  }
}

describe('requests in one call', () => {
  let together: RedisSubject;
  let apart: RedisSubject;

  beforeAll(async () => {
    [together, apart] = [await redisSubject(true), await redisSubject(false)];
  });
  afterAll(() => Promise.all([together.stop(), apart.stop()]));

  async function counters(subject: RedisSubject): Promise<unknown> {
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => subject.full(`${name}:${WINDOW_MS}:x`));
    const types = await Promise.all(names.map((name) => subject.client.type(name)));
    return Promise.all(
      names.map(async (name, i) => (types[i] === 'list' ? 'list' : subject.client.get(name))),
    );
  }

  async function expectSame(history: readonly Check[][], spoiled: string | undefined): Promise<void> {
    await Promise.all([together.clear(), apart.clear()]);
    if (spoiled !== undefined) {
      await Promise.all([together, apart].map((one) => one.client.lpush(one.full(spoiled), 'x')));
    }
    const shared = await Promise.all(history.map((one) => settle(together.store, one)));
    const single: Answer[] = [];
    for (const one of history) single.push(await settle(apart.store, one));
    expect(shared).toEqual(single);
    expect(await counters(together)).toEqual(await counters(apart));
    if (spoiled !== undefined) await together.client.del(together.full(spoiled));
    expect(await together.sweep()).toEqual([]);
  }

  it(`are decided as if they came one by one, in ${BATCHES} random turns`, async () => {
    await fc.assert(
      fc.asyncProperty(requests, (history) => expectSame(history, undefined)),
      { numRuns: BATCHES },
    );
  }, 300_000);

  it('do not share errors: a key that is not a counter fails only its own requests', async () => {
    await fc.assert(
      fc.asyncProperty(requests, (history) => expectSame(history, `c:${WINDOW_MS}:x`)),
      { numRuns: BATCHES / 4 },
    );
  }, 300_000);

  it('are exact for thousands of checks in one turn', async () => {
    const requests = Array.from({ length: 20_000 }, (_, i) =>
      check(`many${i % 4_000}:${WINDOW_MS}:x`, { windowMs: WINDOW_MS, limit: 3 }),
    );
    const answers = await Promise.all(
      requests.map(async (one) => (await together.store.consume([one]))[0]!.allowed),
    );
    expect(answers.filter(Boolean)).toHaveLength(12_000);
    await together.clear();
  }, 60_000);

  it('are sent by one write, however many calls a turn needs', async () => {
    const store = await RedisStore.create(
      {
        redis: redisUrl(),
        namespace: together.namespace,
        timeoutMs: 5_000,
        coalesce: true,
        placement: undefined,
      },
      quiet,
    );
    try {
      await store.open();
      const writes = jest.spyOn(clientOf(store).stream, '_writev');
      const write = jest.spyOn(clientOf(store).stream, '_write');
      const keys = Array.from({ length: 300 }, (_, i) => together.full(`turn${i}:${WINDOW_MS}:x`));
      await Promise.all(keys.map((key) => store.consume([check(key, { windowMs: WINDOW_MS })])));
      expect(write).not.toHaveBeenCalled();
      expect(writes).toHaveBeenCalledTimes(1);
      expect(await together.client.exists(...keys)).toBe(300);
    } finally {
      await store.close();
      await together.clear();
    }
  });
});
