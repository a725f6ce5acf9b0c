import fc from 'fast-check';
import type { Check, CheckResult } from '../../src/core/check.js';
import { check } from '../support/check.js';
import { memorySubject, type RedisSubject } from '../support/subjects.js';
import type { Subject } from './store.contract.js';

// Memory against Redis: the same random history, the same answers. Time moves in steps of 20 seconds and windows end between
// two steps, so that the real time of a history on Redis changes no decision, even on a busy machine; times may differ by it.

const TOLERANCE_MS = 9_000;

const WINDOWS = [70_000, 130_000, 3_610_000];

type Operation =
  | { readonly kind: 'consume' | 'peek'; readonly checks: readonly Check[] }
  | { readonly kind: 'reset'; readonly keys: readonly string[] }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'plant'; readonly key: string; readonly used: number };

const keys = fc
  .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(...WINDOWS))
  .map(([name, windowMs]) => ({ key: `${name}:${windowMs}:x`, windowMs }));

const checks: fc.Arbitrary<Check> = fc
  .record({
    at: keys,
    limit: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constant(Infinity)),
    cost: fc.oneof(
      { weight: 12, arbitrary: fc.constant(1) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 10 }) },
      fc.constantFrom(2 ** 52, Number.MAX_SAFE_INTEGER),
    ),
    countDenied: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
  })
  // a charge beyond the range of a counter cannot be refunded, as a request in several slots may require
  .map(({ at, limit, cost, countDenied }) =>
    check(at.key, {
      windowMs: at.windowMs,
      limit,
      cost: limit === Infinity ? Math.min(cost, 1_000) : cost,
      countDenied,
    }),
  );

const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom('consume', 'consume', 'consume', 'peek'),
      checks: fc.array(checks, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reset'),
      keys: fc.array(
        keys.map(({ key }) => key),
        { maxLength: 3 },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance'),
      ms: fc.constantFrom(20_000, 40_000, 60_000, 80_000, 140_000, 3_700_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('plant'),
      key: keys.map(({ key }) => key),
      used: fc.integer({ min: 1, max: 9 }),
    }),
  },
);

/** The window in a key, as in every key of a store. */
function windowOf(key: string): number {
  return Number(key.split(':')[1]);
}

/** An answer without its times, and its times. */
function parts({ resetAfterMs, retryAfterMs, ...rest }: CheckResult): [object, number[]] {
  return [rest, [resetAfterMs, retryAfterMs]];
}

function expectSame(memory: readonly CheckResult[], redis: readonly CheckResult[]): void {
  expect(redis.map((result) => parts(result)[0])).toEqual(memory.map((result) => parts(result)[0]));
  const times = (results: readonly CheckResult[]): number[] => results.flatMap((result) => parts(result)[1]);
  const theirs = times(redis);
  for (const [i, ms] of times(memory).entries()) {
    expect(Math.abs(theirs[i]! - ms)).toBeLessThanOrEqual(TOLERANCE_MS);
    expect(theirs[i]! > 0).toBe(ms > 0);
  }
}

/** The memory store and another one give the same answers to the same histories. */
export function describeSameAnswers(
  name: string,
  start: () => Promise<RedisSubject>,
  stop: () => Promise<void>,
  histories: number,
): void {
  describe(`the memory store and ${name}`, () => {
    let redis: RedisSubject;

    beforeAll(async () => {
      redis = await start();
    });
    afterAll(stop);

    async function play(memory: Subject, operation: Operation): Promise<void> {
      switch (operation.kind) {
        case 'advance':
          await Promise.all([memory.advance(operation.ms), redis.advance(operation.ms)]);
          return;
        case 'reset':
          {
            const checks = operation.keys.map((key) => check(key, { windowMs: windowOf(key) }));
            await Promise.all([memory.store.reset(checks), redis.store.reset(checks)]);
          }
          return;
        case 'plant':
          await plant(memory, operation.key, operation.used);
          return;
        default: {
          const { kind, checks } = operation;
          expectSame(await memory.store[kind](checks), await redis.store[kind](checks));
        }
      }
    }

    /** A counter without an expiry, written by another program. Its window starts at the next call. */
    async function plant(memory: Subject, key: string, used: number): Promise<void> {
      await redis.client.set(redis.full(key), used);
      const windowMs = windowOf(key);
      const planted = check(key, { windowMs, limit: Infinity, cost: used });
      await memory.store.reset([planted]);
      await memory.store.consume([planted]);
      expectSame(await memory.store.peek([planted]), await redis.store.peek([planted]));
    }

    it(`give the same answers to the same ${histories} histories`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(operations, { minLength: 1, maxLength: 14 }), async (history) => {
          await redis.clear();
          const memory = memorySubject();
          for (const operation of history) await play(memory, operation);
          expect(await redis.sweep()).toEqual([]);
        }),
        {
          numRuns: histories,
          ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}),
        },
      );
    }, 600_000);
  });
}
