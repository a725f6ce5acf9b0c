import { type Block, type CounterKind, FIXED_WINDOW } from '../../../../src/core/counter-kind.js';
import type { Check, CheckResult } from '../../../../src/core/check.js';
import { type Store, withHooks } from '../../../../src/core/store.js';
import { DenyCache } from '../../../../src/store/layers/deny-cache.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';

const NOW = 1_760_000_000_000;
const CALENDAR: CounterKind = {
  type: 'calendar',
  startsAtMs: NOW - 1_000,
  endsAtMs: NOW + 60_000,
  nextEndsAtMs: NOW + 120_000,
};
const BLOCK: Block = { stepsMs: [600_000], forgiveAfterMs: 86_400_000 };

/** A cache in front of a store on the test's clock, with the number of its calls. */
function subject() {
  let nowMs = NOW;
  let calls = 0;
  const inner = new MemoryStore(
    1_000,
    quiet,
    () => nowMs,
    'store',
    () => nowMs,
  );
  const store = {
    consume: (checks, settleable, _, hooks) => {
      calls++;
      return withHooks(Promise.resolve(inner.consume(checks, settleable)), hooks);
    },
  } as Partial<Store> as Store;
  const cache = new DenyCache(store, () => nowMs);
  return {
    consume: async (...checks: Check[]): Promise<CheckResult[]> => cache.consume(checks),
    calls: () => calls,
    advance: (ms: number) => void (nowMs += ms),
  };
}

describe('DenyCache', () => {
  it.each([
    ['a limit of 0', { limit: 0 }],
    ['a cost above the limit', { limit: 5, cost: 6 }],
  ])('denies %s again, though a calendar counts nothing', async (_, parts) => {
    const { consume, advance, calls } = subject();
    const one = check('a', { kind: CALENDAR, ...parts });
    expect((await consume(one))[0]).toMatchObject({ allowed: false, used: 0, retryAfterMs: 60_000 });
    advance(400);
    expect((await consume(one))[0]).toMatchObject({ allowed: false, used: 0, retryAfterMs: 59_600 });
    expect(calls()).toBe(1);
  });

  it('calls the store for a cost that a calendar has not denied yet', async () => {
    const { consume, calls } = subject();
    const shut = check('shut', { limit: 0 });
    const calendar = (cost: number): Check => check('a', { kind: CALENDAR, limit: 5, cost });
    await consume(shut, calendar(1));
    expect((await consume(calendar(6)))[0]).toMatchObject({ allowed: false });
    expect((await consume(calendar(5)))[0]).toMatchObject({ allowed: true });
    expect((await consume(calendar(1)))[0]).toMatchObject({ allowed: false });
    expect(calls()).toBe(4);
    expect((await consume(calendar(1)))[0]).toMatchObject({ allowed: false, used: 5, retryAfterMs: 60_000 });
    expect(calls()).toBe(4);
  });

  it('answers for a block until it ends, and begins none', async () => {
    const { consume, advance, calls } = subject();
    const one = check('a', { kind: FIXED_WINDOW, block: BLOCK, limit: 2, cost: 2 });
    await consume(one);
    // too much for any time, so it begins no block
    expect((await consume({ ...one, cost: 3 }))[0]?.blocked).toBeUndefined();
    expect((await consume(one))[0]).toMatchObject({ blocked: true, retryAfterMs: 600_000 });
    expect(calls()).toBe(3);
    advance(300);
    const results = await consume(one, { ...one, cost: 0 }, { ...one, limit: Infinity });
    expect(results.map(({ allowed, blocked, retryAfterMs }) => [allowed, blocked, retryAfterMs])).toEqual([
      [false, true, 599_700],
      [false, true, 599_700],
      [true, undefined, 0],
    ]);
    expect(calls()).toBe(3);
  });

  it('answers for a block of another rule in a fixed window', async () => {
    const { consume, advance, calls } = subject();
    const blocking = check('a', { block: BLOCK });
    const plain = check('a', { limit: 9 });
    for (let i = 0; i < 2; i++) await consume(blocking);
    for (const [who, others] of [
      [blocking, [plain, { ...plain, cost: 0 }]],
      [plain, [blocking]],
    ] as const) {
      await consume(who);
      const before = calls();
      advance(100);
      for (const other of others)
        expect((await consume(other))[0]).toMatchObject({ allowed: false, blocked: true });
      expect(calls()).toBe(before);
      advance(5_000);
    }
    const [left] = await consume(plain);
    expect([left?.blocked, left?.retryAfterMs]).toEqual([true, 600_000 - 10_200]);
    expect((await consume({ ...plain, limit: Infinity }))[0]).toMatchObject({ allowed: true });
  });

  it('blames no bucket that it does not know', async () => {
    const { consume } = subject();
    const shut = check('shut', { limit: 0 });
    const bucket = check('b', { kind: { type: 'token-bucket', burst: 10 }, limit: 1, cost: 5 });
    await consume(shut);
    expect((await consume(shut, bucket))[1]).toMatchObject({ allowed: true, source: 'none' });
  });

  describe('of a request with a check that may begin a block', () => {
    const blocking = (parts: Partial<Check> = {}): Check => check('a', { block: BLOCK, limit: 2, ...parts });
    const shut = check('shut', { limit: 0 });

    it('denies from memory while the check would allow it', async () => {
      const { consume, calls } = subject();
      for (let i = 0; i < 5; i++) {
        const [first, second] = await consume(blocking(), shut);
        expect(first).toMatchObject({ allowed: true, used: 0 });
        expect(second).toMatchObject({ allowed: false });
      }
      expect(calls()).toBe(1);
    });

    it.each([
      ['was never denied', []],
      ['would deny it', [blocking({ cost: 2 }), shut]],
    ])('calls the store if the check %s', async (_, before) => {
      const { consume } = subject();
      await consume(blocking({ cost: 2 }));
      await consume(shut, ...before);
      const [crossing] = await consume(blocking(), shut);
      expect(crossing).toMatchObject({ allowed: false, blocked: true });
    });

    it('calls the store if the counter was charged since', async () => {
      const { consume } = subject();
      await consume(blocking(), shut);
      await consume(blocking({ cost: 2 }));
      const [crossing] = await consume(blocking(), shut);
      expect(crossing).toMatchObject({ allowed: false, blocked: true });
    });

    it('calls the store if several checks on the counter exceed the limit together', async () => {
      const { consume } = subject();
      await consume(blocking(), shut);
      const twice = await consume(blocking({ cost: 2 }), blocking(), shut);
      expect(twice.map(({ allowed }) => allowed)).toEqual([true, false, false]);
      expect(twice[1]).toMatchObject({ blocked: true });
    });

    it('denies from memory what costs nothing or too much, and begins no block', async () => {
      const { consume, calls } = subject();
      for (const parts of [{ cost: 3 }, { cost: 0 }, { cost: 3 }]) await consume(blocking(parts), shut);
      expect(calls()).toBe(1);
    });
  });

  it('does not take a denial of two checks on one counter for one of each', async () => {
    const { consume } = subject();
    const one = check('s', { kind: { type: 'sliding-window' }, limit: 2 });
    await consume(one);
    expect((await consume(one, one)).map(({ allowed }) => allowed)).toEqual([true, false]);
    expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 2 });
  });
});
