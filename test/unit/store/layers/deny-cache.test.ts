import { jest } from '@jest/globals';
import type { Check, CheckResult, Source } from '../../../../src/core/check.js';
import { toVerdict } from '../../../../src/core/verdict.js';
import { DenyCache } from '../../../../src/store/layers/deny-cache.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import type { RecentMap } from '../../../../src/store/layers/recent-map.js';
import type { Store } from '../../../../src/core/store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';

/** A store that answers later, as one behind a network does, on the test's clock, and counts how often it is asked. */
function subject(delayMs = 0) {
  let nowMs = 1_000_000;
  let asked = 0;
  let source: Source = 'store';
  const inner = new MemoryStore(100_000, quiet, () => nowMs);
  const slow: Store = {
    consume: async (checks, refundable) => {
      asked++;
      const answer = inner.consume(checks, refundable).map((one) => ({ ...one, source }));
      nowMs += delayMs;
      return answer;
    },
    peek: async (checks) => inner.peek(checks),
    refund: async (checks, results) => inner.refund(checks, results),
    reset: async (checks) => inner.reset(checks),
    health: () => inner.health(),
    open: () => inner.open(),
    close: () => inner.close(),
  };
  const cache = new DenyCache(slow, () => nowMs);
  return {
    cache,
    inner,
    asked: () => asked,
    answerAs: (from: Source) => void (source = from),
    advance: (ms: number) => void (nowMs += ms),
    consume: async (...checks: Check[]): Promise<CheckResult[]> => cache.consume(checks),
  };
}

describe('DenyCache', () => {
  const one = check('a', { limit: 2 });

  it('does not ask again for a counter that it heard is at its limit', async () => {
    const { consume, asked, advance } = subject();
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
    expect(asked()).toBe(3);
  });

  it('asks again after a second, and when the window has ended', async () => {
    const { consume, asked, advance } = subject();
    for (let i = 0; i < 3; i++) await consume(one);
    advance(1_000);
    await consume(one);
    expect(asked()).toBe(4);
    advance(59_001);
    expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 1 });
    const short = check('s', { limit: 1, windowMs: 300 });
    await consume(short);
    await consume(short);
    advance(301);
    expect((await consume(short))[0]!.allowed).toBe(true);
  });

  it('counts the end from the moment the question was sent, so that it can only come early', async () => {
    const { consume, asked, advance } = subject(200);
    const short = check('s', { limit: 1, windowMs: 500 });
    await consume(short);
    await consume(short);
    // the window ends 500 ms after the first question; the second was sent at 200 and answered at 400
    advance(99);
    expect((await consume(short))[0]).toMatchObject({ allowed: false, resetAfterMs: 1 });
    expect(asked()).toBe(2);
    advance(1);
    await consume(short);
    expect(asked()).toBe(3);
  });

  it('does not outlive a window that it met in its last millisecond', async () => {
    const { consume, advance } = subject();
    const short = check('s', { limit: 1, windowMs: 500 });
    await consume(short);
    advance(500);
    expect((await consume(short))[0]).toMatchObject({ allowed: false, resetAfterMs: 0 });
    advance(1);
    expect((await consume(short))[0]).toMatchObject({ allowed: true, used: 1 });
  });

  it('remembers the count and not the answer: a raised limit holds at once, and so does a lower cost', async () => {
    const { consume } = subject();
    for (let i = 0; i < 4; i++) await consume(one);
    expect((await consume({ ...one, limit: 10 }))[0]).toMatchObject({ allowed: true, used: 3 });
    const dear = check('dear', { limit: 5, cost: 4 });
    for (let i = 0; i < 3; i++) await consume(dear);
    expect((await consume({ ...dear, cost: 1 }))[0]).toMatchObject({ allowed: true, used: 5 });
  });

  it('answers a whole request whose counters were stored together', async () => {
    const { consume, asked } = subject();
    const other = check('other', { limit: 9 });
    await consume(one);
    await consume(one);
    for (let i = 0; i < 3; i++) {
      expect((await consume(other, one)).map(({ used, source }) => [used, source])).toEqual([
        [0, 'store'],
        [2, 'store'],
      ]);
    }
    expect(asked()).toBe(3);
    expect((await consume(other))[0]!.used).toBe(1);
  });

  describe('a request with a counter that it knows nothing of', () => {
    const fresh = (n: number, parts: Partial<Check> = {}): Check =>
      check(`fresh${n}`, { limit: 9, ...parts });

    async function full() {
      const made = subject();
      for (let i = 0; i < 3; i++) await made.consume(one);
      return { ...made, before: made.asked() };
    }

    it('is denied without a question, and leaves no trace of it', async () => {
      const { consume, asked, before, inner } = await full();
      for (let i = 0; i < 100; i++) {
        expect(await consume(fresh(i), one, fresh(-i))).toMatchObject([
          { allowed: true, source: 'none', used: 0, remaining: 9, resetAfterMs: 0, retryAfterMs: 0 },
          { allowed: false, source: 'store', used: 2, remaining: 0, resetAfterMs: 60_000 },
          { allowed: true, source: 'none' },
        ]);
      }
      expect(asked()).toBe(before);
      expect(inner.size).toBe(1);
    });

    it('speaks by the check that denies, from the store', async () => {
      const { consume } = await full();
      const results = await consume(fresh(1, { limit: 0 }), one);
      const verdict = toVerdict(results);
      expect(verdict).toMatchObject({ allowed: false, source: 'store' });
      expect(verdict.tightest).toBe(results[1]);
    });

    it('calls the store if no remembered counter denies', async () => {
      const { consume, asked, before } = await full();
      expect((await consume(fresh(1), { ...one, limit: 3 })).map(({ used }) => used)).toEqual([1, 3]);
      expect((await consume(fresh(1), { ...one, limit: 3, cost: 0 })).map(({ used }) => used)).toEqual([
        2, 3,
      ]);
      expect(asked()).toBe(before + 2);
    });

    it('calls the store if countDenied charges, and not if its cost is 0', async () => {
      const { consume, asked, before } = await full();
      for (let i = 0; i < 3; i++) await consume(one, fresh(1, { countDenied: true }));
      expect(asked()).toBe(before + 3);
      expect((await consume(fresh(1)))[0]!.used).toBe(4);
      await consume(one, fresh(2, { countDenied: true, cost: 0 }));
      expect(asked()).toBe(before + 4);
    });

    it('is denied for looks and for what only counts too: neither changes a counter', async () => {
      const { consume, asked, before, inner } = await full();
      const results = await consume(fresh(1, { cost: 0 }), fresh(2, { limit: Infinity }), one);
      expect(results.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      expect(asked()).toBe(before);
      expect(inner.size).toBe(1);
    });

    it('calls the store again after a second', async () => {
      const { consume, asked, before, advance } = await full();
      advance(1_000);
      await consume(fresh(1), one);
      expect(asked()).toBe(before + 1);
      await consume(fresh(2), one);
      expect(asked()).toBe(before + 1);
    });
  });

  it('always asks where denied visits count', async () => {
    const { consume, asked } = subject();
    const counting = { ...one, countDenied: true };
    for (let i = 0; i < 10; i++) await consume(counting);
    expect(asked()).toBe(10);
    expect((await consume(counting))[0]!.used).toBe(11);
  });

  it('forgets at a reset, also what is on its way', async () => {
    const { cache, consume } = subject();
    for (let i = 0; i < 4; i++) await consume(one);
    await cache.reset([one]);
    expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 1 });
    for (let i = 0; i < 3; i++) await consume(one);
    const late = consume({ ...one, key: 'b', limit: 0 });
    await cache.reset([one]);
    await late;
    expect((await consume({ ...one, key: 'b', limit: 1 }))[0]!.allowed).toBe(true);
  });

  it.each<[string, (cache: DenyCache) => unknown]>([
    ['a give-back', (cache) => cache.refund([one], [])],
    ['a reset', (cache) => cache.reset([one])],
  ])('asks again after %s, and does not believe what was on its way', async (_, lower) => {
    const { cache, consume, asked } = subject();
    for (let i = 0; i < 3; i++) await consume(one);
    await lower(cache);
    await consume(one);
    expect(asked()).toBe(4);
    const late = consume(check('b', { limit: 0 }));
    await lower(cache);
    await late;
    await consume(check('b', { limit: 0 }));
    expect(asked()).toBe(6);
  });

  it('forgets at a give-back the counters that it lowers, and no others', async () => {
    const { cache, consume, asked } = subject();
    const other = check('other', { limit: 0 });
    for (let i = 0; i < 3; i++) await consume(one);
    await consume(other);
    await cache.refund([one], []);
    await consume(other);
    expect(asked()).toBe(4);
  });

  it.each(['memory', 'allow'] as const)('does not remember what %s has answered', async (source) => {
    const { consume, asked, answerAs } = subject();
    answerAs(source);
    for (let i = 0; i < 10; i++) await consume(check('a', { limit: 0 }));
    expect(asked()).toBe(10);
    answerAs('store');
    for (let i = 0; i < 10; i++) await consume(check('a', { limit: 0 }));
    expect(asked()).toBe(11);
  });

  it('answers as the store does: from the store', async () => {
    const { consume } = subject();
    for (let i = 0; i < 5; i++) expect((await consume(one))[0]!.source).toBe('store');
  });

  it('lets through at once what a store answers at once, and remembers nothing of it', () => {
    const memory = new MemoryStore(10, quiet, () => 0);
    const cache = new DenyCache(memory, () => 0);
    const shut = check('a', { limit: 0 });
    expect(cache.consume([shut])).toMatchObject([{ allowed: false }]);
    expect(cache.consume([{ ...shut, limit: 1 }])).toMatchObject([{ allowed: true, used: 1 }]);
  });

  it('passes on whether some may be given back', async () => {
    const { cache, inner } = subject();
    const spy = jest.spyOn(inner, 'consume');
    await cache.consume([one], true);
    await cache.consume([one]);
    expect(spy.mock.calls.map(([, refundable]) => refundable)).toEqual([true, undefined]);
  });

  it('keeps a bounded number of counters', async () => {
    const { consume, cache } = subject();
    for (let i = 0; i < 30_000; i++) await consume(check(`k${i}`, { limit: 0 }));
    const { known } = cache as unknown as { known: RecentMap<unknown> };
    expect(known.size).toBeGreaterThan(0);
    expect(known.size).toBeLessThanOrEqual(20_000);
  });

  it('answers as the store alone does, whatever the history', async () => {
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
