import { jest } from '@jest/globals';
import type { Check, CheckResult, Source } from '../../../../src/core/check.js';
import { toVerdict } from '../../../../src/core/verdict.js';
import { CachedCounts } from '../../../../src/store/layers/cached-counts.js';
import { DenyCache } from '../../../../src/store/layers/deny-cache.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { type Store, withHooks } from '../../../../src/core/store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';
import { refundAll } from '../../../support/refund-all.js';

/** A store that answers later, like one in a network, on the test's clock, and counts its calls. */
function subject(delayMs = 0) {
  let nowMs = 1_000_000;
  let calls = 0;
  let source: Source = 'store';
  const inner = new MemoryStore(100_000, quiet, () => nowMs);
  const slow: Store = {
    place: 'a test',
    consume: (checks, settleable, _, hooks) => {
      calls++;
      const answer = inner.consume(checks, settleable).map((one) => ({ ...one, source }));
      nowMs += delayMs;
      return withHooks(Promise.resolve(answer), hooks);
    },
    peek: async (checks) => inner.peek(checks),
    settle: async (checks, results, costs) => inner.settle(checks, results, costs),
    renew: async (checks) => inner.renew(checks),
    reset: async (checks) => inner.reset(checks),
    health: () => inner.health(),
    open: () => inner.open(),
    close: () => inner.close(),
  };
  const counts = new CachedCounts();
  const cache = new DenyCache(slow, () => nowMs, counts);
  return {
    cache,
    counts,
    inner,
    calls: () => calls,
    answerAs: (from: Source) => void (source = from),
    advance: (ms: number) => void (nowMs += ms),
    consume: async (...checks: Check[]): Promise<CheckResult[]> => cache.consume(checks),
  };
}

describe('DenyCache', () => {
  const one = check('a', { limit: 2 });

  it('does not call the store again for a counter at its limit', async () => {
    const { consume, calls, advance } = subject();
    for (let i = 0; i < 3; i++) await consume(one);
    advance(500);
    for (let i = 0; i < 100; i++) {
      expect((await consume(one))[0]).toMatchObject({
        allowed: false,
        used: 2,
        remaining: 0,
        resetAfterMs: 59_500,
      });
    }
    expect(calls()).toBe(3);
  });

  it('calls the store again after a second, and after the window', async () => {
    const { consume, calls, advance } = subject();
    for (let i = 0; i < 3; i++) await consume(one);
    advance(1_000);
    await consume(one);
    expect(calls()).toBe(4);
    advance(59_001);
    expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 1 });
    const short = check('s', { limit: 1, windowMs: 300 });
    await consume(short);
    await consume(short);
    advance(301);
    expect((await consume(short))[0]!.allowed).toBe(true);
  });

  it('counts the window from the moment the call was sent, so that an entry can only expire early', async () => {
    const { consume, calls, advance } = subject(200);
    const short = check('s', { limit: 1, windowMs: 500 });
    await consume(short);
    await consume(short);
    // the window ends 500 ms after the first call; the second was sent at 200 and answered at 400
    advance(99);
    // the store may have counted as late as at 400
    expect((await consume(short))[0]).toMatchObject({
      allowed: false,
      resetAfterMs: 201,
      retryAfterMs: 202,
    });
    expect(calls()).toBe(2);
    advance(1);
    await consume(short);
    expect(calls()).toBe(3);
  });

  it('expires with a window that was in its last millisecond', async () => {
    const { consume, advance } = subject();
    const short = check('s', { limit: 1, windowMs: 500 });
    await consume(short);
    advance(500);
    expect((await consume(short))[0]).toMatchObject({ allowed: false, resetAfterMs: 0 });
    advance(1);
    expect((await consume(short))[0]).toMatchObject({ allowed: true, used: 1 });
  });

  it('caches the count and not the denial: a higher limit or a lower cost applies at once', async () => {
    const { consume } = subject();
    for (let i = 0; i < 4; i++) await consume(one);
    expect((await consume({ ...one, limit: 10 }))[0]).toMatchObject({ allowed: true, used: 3 });
    const costly = check('costly', { limit: 5, cost: 4 });
    for (let i = 0; i < 3; i++) await consume(costly);
    expect((await consume({ ...costly, cost: 1 }))[0]).toMatchObject({ allowed: true, used: 5 });
  });

  it('decides a request whose counters are all cached', async () => {
    const { consume, calls } = subject();
    const other = check('other', { limit: 9 });
    await consume(one);
    await consume(one);
    for (let i = 0; i < 3; i++) {
      expect((await consume(other, one)).map(({ used, source }) => [used, source])).toEqual([
        [0, 'store'],
        [2, 'store'],
      ]);
    }
    expect(calls()).toBe(3);
    expect((await consume(other))[0]!.used).toBe(1);
  });

  describe('a request with a counter that is not cached', () => {
    const fresh = (n: number, parts: Partial<Check> = {}): Check =>
      check(`fresh${n}`, { limit: 9, ...parts });

    async function full() {
      const made = subject();
      for (let i = 0; i < 3; i++) await made.consume(one);
      return { ...made, before: made.calls() };
    }

    it('is denied without a call, and leaves no trace', async () => {
      const { consume, calls, before, inner } = await full();
      for (let i = 0; i < 100; i++) {
        expect(await consume(fresh(i), one, fresh(-i))).toMatchObject([
          { allowed: true, source: 'none', used: 0, remaining: 9, resetAfterMs: 0, retryAfterMs: 0 },
          { allowed: false, source: 'store', used: 2, remaining: 0, resetAfterMs: 60_000 },
          { allowed: true, source: 'none' },
        ]);
      }
      expect(calls()).toBe(before);
      expect(inner.size).toBe(1);
    });

    it('has the check that denies as tightest, with the source store', async () => {
      const { consume } = await full();
      const results = await consume(fresh(1, { limit: 0 }), one);
      const verdict = toVerdict(results);
      expect(verdict).toMatchObject({ allowed: false, source: 'store' });
      expect(verdict.tightest).toBe(results[1]);
    });

    it('calls the store if no cached counter denies', async () => {
      const { consume, calls, before } = await full();
      expect((await consume(fresh(1), { ...one, limit: 3 })).map(({ used }) => used)).toEqual([1, 3]);
      expect((await consume(fresh(1), { ...one, limit: 3, cost: 0 })).map(({ used }) => used)).toEqual([
        2, 3,
      ]);
      expect(calls()).toBe(before + 2);
    });

    it('calls the store if countDenied charges, and not if its cost is 0', async () => {
      const { consume, calls, before } = await full();
      for (let i = 0; i < 3; i++) await consume(one, fresh(1, { countDenied: true }));
      expect(calls()).toBe(before + 3);
      expect((await consume(fresh(1)))[0]!.used).toBe(4);
      await consume(one, fresh(2, { countDenied: true, cost: 0 }));
      expect(calls()).toBe(before + 4);
    });

    it('is denied although it has checks with cost 0 or without a limit: neither changes a counter', async () => {
      const { consume, calls, before, inner } = await full();
      const results = await consume(fresh(1, { cost: 0 }), fresh(2, { limit: Infinity }), one);
      expect(results.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      expect(calls()).toBe(before);
      expect(inner.size).toBe(1);
    });

    it('calls the store again after a second', async () => {
      const { consume, calls, before, advance } = await full();
      advance(1_000);
      await consume(fresh(1), one);
      expect(calls()).toBe(before + 1);
      await consume(fresh(2), one);
      expect(calls()).toBe(before + 1);
    });
  });

  it('always calls the store if denied requests count', async () => {
    const { consume, calls } = subject();
    const counting = { ...one, countDenied: true };
    for (let i = 0; i < 10; i++) await consume(counting);
    expect(calls()).toBe(10);
    expect((await consume(counting))[0]!.used).toBe(11);
  });

  it('is cleared by a reset, and ignores the results of calls in flight', async () => {
    const { cache, consume } = subject();
    for (let i = 0; i < 4; i++) await consume(one);
    await cache.reset([one]);
    expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 1 });
    for (let i = 0; i < 3; i++) await consume(one);
    const late = consume({ ...one, key: 'b', text: 'b', limit: 0 });
    await cache.reset([one]);
    await late;
    expect((await consume({ ...one, key: 'b', text: 'b', limit: 1 }))[0]!.allowed).toBe(true);
  });

  it.each<[string, (cache: DenyCache) => unknown]>([
    ['a refund', (cache) => refundAll(cache, [one], [])],
    ['a reset', (cache) => cache.reset([one])],
  ])('calls the store again after %s, and ignores the results of calls in flight', async (_, lower) => {
    const { cache, consume, calls } = subject();
    for (let i = 0; i < 3; i++) await consume(one);
    await lower(cache);
    await consume(one);
    expect(calls()).toBe(4);
    const late = consume(check('b', { limit: 0 }));
    await lower(cache);
    await late;
    await consume(check('b', { limit: 0 }));
    expect(calls()).toBe(6);
  });

  it('calls the store again after a partial refund, but not after a debt', async () => {
    const { cache, consume, calls } = subject();
    const three = { ...one, cost: 3 };
    for (let i = 0; i < 3; i++) await consume(one);
    for (const cost of [4, 3]) await cache.settle([three], [], [cost]);
    await consume(one);
    expect(calls()).toBe(3);
    await cache.settle([three], [], [2]);
    await consume(one);
    expect(calls()).toBe(4);
  });

  it('ignores a denial that is decided while a refund is in flight', async () => {
    const { cache, consume, calls, inner } = subject();
    const results = inner.consume([one], true);
    inner.consume([one]);
    const settle = inner.settle.bind(inner);
    jest.spyOn(inner, 'settle').mockImplementation((async (...args: Parameters<MemoryStore['settle']>) => {
      await new Promise(setImmediate);
      return settle(...args);
    }) as never);
    const refunded = cache.settle([one], results, [0]);
    expect((await consume(one))[0]!.allowed).toBe(false);
    await refunded;
    expect((await consume(one))[0]!.allowed).toBe(true);
    expect(calls()).toBe(2);
  });

  it('forgets only the counters of a refund', async () => {
    const { cache, consume, calls } = subject();
    const other = check('other', { limit: 0 });
    for (let i = 0; i < 3; i++) await consume(one);
    await consume(other);
    await refundAll(cache, [one], []);
    await consume(other);
    expect(calls()).toBe(4);
  });

  it.each(['memory', 'allow'] as const)('does not cache results with the source %s', async (source) => {
    const { consume, calls, answerAs } = subject();
    answerAs(source);
    for (let i = 0; i < 10; i++) await consume(check('a', { limit: 0 }));
    expect(calls()).toBe(10);
    answerAs('store');
    for (let i = 0; i < 10; i++) await consume(check('a', { limit: 0 }));
    expect(calls()).toBe(11);
  });

  it('has the source store', async () => {
    const { consume } = subject();
    for (let i = 0; i < 5; i++) expect((await consume(one))[0]!.source).toBe('store');
  });

  it('caches nothing of a store that returns no promises', () => {
    const memory = new MemoryStore(10, quiet, () => 0);
    const cache = new DenyCache(memory, () => 0);
    const shut = check('a', { limit: 0 });
    expect(cache.consume([shut])).toMatchObject([{ allowed: false }]);
    expect(cache.consume([{ ...shut, limit: 1 }])).toMatchObject([{ allowed: true, used: 1 }]);
  });

  it('passes on whether the results are settleable', async () => {
    const { cache, inner } = subject();
    const spy = jest.spyOn(inner, 'consume');
    await cache.consume([one], true);
    await cache.consume([one]);
    expect(spy.mock.calls.map(([, settleable]) => settleable)).toEqual([true, undefined]);
  });

  it('keeps a bounded number of counters', async () => {
    const { consume, counts } = subject();
    for (let i = 0; i < 30_000; i++) await consume(check(`k${i}`, { limit: 0 }));
    expect(counts.size).toBeGreaterThan(0);
    expect(counts.size).toBeLessThanOrEqual(20_000);
  });

  it('allows and denies like the store alone, whatever the history', async () => {
    const { consume, advance } = subject();
    const alone = subject();
    let seed = 7;
    const random = (below: number): number =>
      (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    for (let i = 0; i < 20_000; i++) {
      const checks = Array.from({ length: 1 + random(3) }, () => {
        const n = random(6);
        return check(`k${n}`, { limit: n, cost: random(5) === 0 ? 2 : 1, windowMs: 700 + 900 * n });
      });
      const [cached, plain] = [await consume(...checks), alone.inner.consume(checks)];
      expect(cached.every(({ allowed }) => allowed)).toBe(plain.every(({ allowed }) => allowed));
      const ms = random(200);
      advance(ms);
      alone.advance(ms);
    }
  });
});
