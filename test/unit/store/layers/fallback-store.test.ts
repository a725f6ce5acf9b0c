import type { Check, CheckResult, OnStoreError } from '../../../../src/core/check.js';
import { FreqLimitError } from '../../../../src/core/errors.js';
import { toVerdict } from '../../../../src/core/verdict.js';
import { FallbackStore } from '../../../../src/store/layers/fallback-store.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import type { Store } from '../../../../src/core/store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';
import { thrownBy } from '../../fixtures.js';

const DOWN = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'Redis did not answer: down');

/** A store that counts in memory until it goes down, and its fallback. */
function make(share = 1) {
  const nowMs = 1_000_000;
  const inner = new MemoryStore(1_000, quiet, () => nowMs);
  const fallback = new MemoryStore(1_000, quiet, () => nowMs, 'memory');
  let isDown = false;
  const calls: string[] = [];
  const orFail =
    <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
    async (...args: A): Promise<R> => {
      calls.push(name);
      if (isDown) throw DOWN;
      return call(...args);
    };
  const store: Store = {
    consume: orFail('consume', (checks: readonly Check[], refundable?: boolean) =>
      inner.consume(checks, refundable),
    ),
    peek: orFail('peek', (checks: readonly Check[]) => inner.peek(checks)),
    refund: orFail('refund', (checks: readonly Check[], results: readonly CheckResult[]) =>
      inner.refund(checks, results),
    ),
    reset: orFail('reset', (checks: readonly Check[]) => inner.reset(checks)),
    health: () => ({ store: 'redis', isUp: !isDown, reason: isDown ? 'down' : undefined, since: undefined }),
    open: orFail('open', () => undefined),
    close: orFail('close', () => undefined),
  };
  const guarded = new FallbackStore(store, fallback, share);
  return {
    guarded,
    inner,
    fallback,
    calls,
    goDown: () => void (isDown = true),
    comeBack: () => void (isDown = false),
    consume: async (...checks: Check[]): Promise<CheckResult[]> => guarded.consume(checks),
    peek: async (...checks: Check[]): Promise<CheckResult[]> => guarded.peek(checks),
  };
}

const five = (key: string, onStoreError: OnStoreError = 'memory', parts: Partial<Check> = {}): Check =>
  check(key, { limit: 5, ...parts, onStoreError });
const brief = (results: readonly CheckResult[]): unknown[] =>
  results.map(({ name, allowed, used, source }) => [name, allowed, used, source]);

describe('a store that answers', () => {
  it('makes no use of the fallback', async () => {
    const { consume, peek, fallback } = make(0.25);
    const checks = [five('a'), five('b', 'allow'), five('c', 'deny')];
    expect(brief(await consume(...checks))).toEqual([
      ['a', true, 1, 'store'],
      ['b', true, 1, 'store'],
      ['c', true, 1, 'store'],
    ]);
    expect(brief(await peek(five('a')))).toEqual([['a', true, 1, 'store']]);
    expect((await consume(five('a')))[0]!.limit).toBe(5);
    expect(fallback.size).toBe(0);
  });

  it('may deny, which is an answer', async () => {
    const { consume, fallback } = make();
    expect(brief(await consume(five('a', 'allow', { limit: 0 })))).toEqual([['a', false, 0, 'store']]);
    expect(fallback.size).toBe(0);
  });

  it('returns results without a promise if the store does', () => {
    const memory = new MemoryStore(10, quiet, () => 0);
    const guarded = new FallbackStore(memory, new MemoryStore(10, quiet, () => 0, 'memory'), 1);
    expect(guarded.consume([five('a')])).toMatchObject([{ used: 1, source: 'store' }]);
    expect(guarded.peek([five('a')])).toMatchObject([{ used: 1, source: 'store' }]);
  });

  it('gets whether the results are refundable', async () => {
    const { guarded, inner } = make();
    const checks = [five('a')];
    const plain = await guarded.consume(checks);
    expect(inner.refund(checks, plain)).toMatchObject([{ used: 1 }]);
    const refundable = await guarded.consume(checks, true);
    expect(inner.refund(checks, refundable)).toMatchObject([{ used: 1 }]);
    expect(inner.peek(checks)).toMatchObject([{ used: 1 }]);
  });
});

describe("while it is down, 'memory'", () => {
  it('limits in this process, with the source memory', async () => {
    const { consume, goDown } = make();
    goDown();
    const two = five('a', 'memory', { limit: 2 });
    const results = [await consume(two), await consume(two), await consume(two)].flat();
    expect(brief(results)).toEqual([
      ['a', true, 1, 'memory'],
      ['a', true, 2, 'memory'],
      ['a', false, 2, 'memory'],
    ]);
    expect(results[2]).toMatchObject({ resetAfterMs: 60_000, retryAfterMs: 60_000, remaining: 0 });
  });

  it('starts with its own counters, and continues with them in the next outage', async () => {
    const { consume, goDown, comeBack } = make();
    await consume(five('a', 'memory', { cost: 3 }));
    goDown();
    expect(brief(await consume(five('a')))).toEqual([['a', true, 1, 'memory']]);
    comeBack();
    expect(brief(await consume(five('a')))).toEqual([['a', true, 4, 'store']]);
    goDown();
    expect(brief(await consume(five('a')))).toEqual([['a', true, 2, 'memory']]);
  });

  it('charges all checks or none, except checks with countDenied', async () => {
    const { consume, goDown, fallback } = make();
    goDown();
    const denied = await consume(
      five('a'),
      five('b', 'memory', { countDenied: true }),
      five('c', 'memory', { limit: 0 }),
    );
    expect(brief(denied)).toEqual([
      ['a', true, 0, 'memory'],
      ['b', true, 1, 'memory'],
      ['c', false, 0, 'memory'],
    ]);
    expect(fallback.size).toBe(1);
  });

  it('peeks without charging', async () => {
    const { consume, peek, goDown } = make();
    goDown();
    await consume(five('a'));
    for (let i = 0; i < 3; i++) expect(brief(await peek(five('a')))).toEqual([['a', true, 1, 'memory']]);
  });
});

describe("while it is down, 'allow'", () => {
  it('allows every request without counting it', async () => {
    const { consume, goDown, fallback } = make();
    goDown();
    for (let i = 0; i < 10; i++) {
      expect(await consume(five('a', 'allow'))).toEqual([
        {
          name: 'a',
          allowed: true,
          limit: 5,
          windowMs: 60_000,
          cost: 1,
          used: 0,
          remaining: 5,
          resetAfterMs: 0,
          retryAfterMs: 0,
          source: 'allow',
        },
      ]);
    }
    expect(fallback.size).toBe(0);
  });

  it('allows a peek too', async () => {
    const { peek, goDown } = make();
    goDown();
    expect(brief(await peek(five('a', 'allow')))).toEqual([['a', true, 0, 'allow']]);
  });

  it.each([
    ['a limit of 0', { limit: 0 }],
    ['a cost above the limit', { cost: 6 }],
    ['no limit', { limit: Infinity }],
    ['a cost of 0', { cost: 0 }],
  ])('allows %s', async (_, parts) => {
    const { consume, goDown } = make();
    goDown();
    expect(brief(await consume(five('a', 'allow', parts)))).toEqual([['a', true, 0, 'allow']]);
  });
});

describe("while it is down, 'deny'", () => {
  it('fails with the error of the store, for charges and peeks', async () => {
    const { consume, peek, goDown, fallback } = make();
    goDown();
    await expect(consume(five('a', 'deny'))).rejects.toBe(DOWN);
    await expect(peek(five('a', 'deny'))).rejects.toBe(DOWN);
    expect(fallback.size).toBe(0);
  });
});

describe('while it is down, the strictest of several onStoreError applies', () => {
  it.each<[a: OnStoreError, b: OnStoreError, sources: [string, string], used: [number, number]]>([
    ['memory', 'memory', ['memory', 'memory'], [1, 1]],
    ['memory', 'allow', ['memory', 'allow'], [1, 0]],
    ['allow', 'memory', ['allow', 'memory'], [0, 1]],
    ['allow', 'allow', ['allow', 'allow'], [0, 0]],
  ])('%s with %s', async (a, b, sources, used) => {
    const { consume, peek, goDown, fallback } = make();
    goDown();
    const results = await consume(five('a', a), five('b', b));
    expect(brief(results)).toEqual([
      ['a', true, used[0], sources[0]],
      ['b', true, used[1], sources[1]],
    ]);
    expect(brief(await peek(five('a', a), five('b', b)))).toEqual(brief(results));
    expect(fallback.size).toBe(used[0] + used[1]);
  });

  it.each<[OnStoreError, OnStoreError]>([
    ['deny', 'memory'],
    ['memory', 'deny'],
    ['deny', 'allow'],
    ['allow', 'deny'],
    ['deny', 'deny'],
  ])('%s with %s', async (a, b) => {
    const { consume, peek, goDown, fallback } = make();
    goDown();
    await expect(consume(five('a', a), five('b', b))).rejects.toBe(DOWN);
    await expect(peek(five('a', a), five('b', b))).rejects.toBe(DOWN);
    expect(fallback.size).toBe(0);
  });

  it('keeps the order, and denies if a counter in memory does', async () => {
    const { consume, goDown } = make();
    goDown();
    const results = await consume(
      five('a', 'allow'),
      five('b', 'memory', { limit: 0 }),
      five('c', 'allow'),
      five('d'),
    );
    expect(brief(results)).toEqual([
      ['a', true, 0, 'allow'],
      ['b', false, 0, 'memory'],
      ['c', true, 0, 'allow'],
      ['d', true, 0, 'memory'],
    ]);
    expect(toVerdict(results)).toMatchObject({ allowed: false, source: 'allow', tightest: { name: 'b' } });
  });

  it('returns nothing for no checks', async () => {
    const { consume, goDown } = make();
    goDown();
    expect(await consume()).toEqual([]);
  });
});

describe('the share of a limit', () => {
  it.each<[share: number, limit: number, cost: number, shareOfLimit: number]>([
    [1, 10, 1, 10],
    [0.25, 100, 1, 25],
    [0.5, 5, 1, 2],
    [0.25, 10, 1, 2],
    [0.999, 10, 1, 9],
    [0.1, 5, 1, 1],
    [0.001, 1, 1, 1],
    [Number.MIN_VALUE, Number.MAX_SAFE_INTEGER, 1, 1],
    [0.5, Number.MAX_SAFE_INTEGER, 1, 4_503_599_627_370_495],
    // a request within the limit must be able to pass
    [0.25, 10, 5, 5],
    [0.25, 10, 10, 10],
    [0.25, 100, 20, 25],
    // a request above the limit never passes
    [0.25, 10, 11, 10],
    // a check with cost 0 sees the share that applies to a request
    [0.25, 10, 0, 2],
    [0.1, 5, 0, 1],
    [0.25, 0, 1, 0],
    [0.25, 0, 0, 0],
    [0.25, Infinity, 1, Infinity],
    [0.25, Infinity, 7, Infinity],
  ])('of %d of %d for a cost of %d is %d', async (share, limit, cost, shareOfLimit) => {
    const { consume, peek, goDown } = make(share);
    goDown();
    const parts = { limit, cost };
    const [result] = await consume(five('a', 'memory', parts));
    expect(result!.limit).toBe(shareOfLimit);
    expect(result!.allowed).toBe(cost <= limit);
    expect(result!.used).toBe(cost <= limit ? cost : 0);
    expect(result!.remaining).toBe(shareOfLimit - result!.used);
    expect((await peek(five('b', 'memory', parts)))[0]!.limit).toBe(shareOfLimit);
  });

  it('allows exactly this many requests', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    let passed = 0;
    for (let i = 0; i < 100; i++) {
      if ((await consume(five('a', 'memory', { limit: 40 })))[0]!.allowed) passed++;
    }
    expect(passed).toBe(10);
  });

  it('allows one request that costs more than the share, not two', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    const costly = five('a', 'memory', { limit: 10, cost: 6 });
    expect((await consume(costly))[0]!.allowed).toBe(true);
    expect((await consume(costly))[0]!.allowed).toBe(false);
    expect((await consume({ ...costly, cost: 1 }))[0]!.allowed).toBe(false);
  });

  it('does not change the check', async () => {
    const { consume, goDown } = make(0.25);
    goDown();
    const given = Object.freeze(five('a', 'memory', { limit: 100 }));
    await consume(given);
    expect(given.limit).toBe(100);
  });
});

describe('a refund', () => {
  const checks = [five('a', 'memory', { cost: 2 }), five('b', 'allow'), five('c', 'memory', { cost: 3 })];

  it('goes to the store if the store has answered', async () => {
    const { guarded, inner, fallback } = make();
    const results = await guarded.consume(checks, true);
    expect(brief(await guarded.refund(checks, results))).toEqual([
      ['a', true, 0, 'store'],
      ['b', true, 0, 'store'],
      ['c', true, 0, 'store'],
    ]);
    expect([inner.size, fallback.size]).toEqual([0, 0]);
  });

  it('goes to the fallback if that has answered, and nowhere for allow', async () => {
    const { guarded, inner, fallback, goDown, comeBack } = make();
    inner.consume(checks);
    goDown();
    const results = await guarded.consume(checks, true);
    comeBack();
    const after = await guarded.refund(checks, results);
    expect(brief(after)).toEqual([
      ['a', true, 0, 'memory'],
      ['b', true, 0, 'allow'],
      ['c', true, 0, 'memory'],
    ]);
    expect(after[1]).toBe(results[1]);
    expect(fallback.size).toBe(0);
    expect(inner.peek(checks).map(({ used }) => used)).toEqual([2, 1, 3]);
  });

  it('goes by the source of each result, in any order', async () => {
    const { guarded, inner, fallback, goDown, comeBack } = make();
    const [a, b, c] = checks as [Check, Check, Check];
    goDown();
    const [ofA, ofB] = (await guarded.consume([a, b], true)) as [CheckResult, CheckResult];
    comeBack();
    const [ofC] = (await guarded.consume([c], true)) as [CheckResult];
    expect(brief(await guarded.refund([c, b, a], [ofC, ofB, ofA]))).toEqual([
      ['c', true, 0, 'store'],
      ['b', true, 0, 'allow'],
      ['a', true, 0, 'memory'],
    ]);
    expect([inner.size, fallback.size]).toEqual([0, 0]);
  });

  it('happens once', async () => {
    const { guarded, fallback, goDown } = make();
    goDown();
    await guarded.consume(checks);
    const results = await guarded.consume(checks, true);
    await guarded.refund(checks, results).catch(() => undefined);
    await guarded.refund(checks, results).catch(() => undefined);
    expect(fallback.peek(checks).map(({ used }) => used)).toEqual([2, 0, 3]);
  });

  it('returns the share that the request was decided by', async () => {
    const { guarded, goDown, comeBack } = make(0.5);
    goDown();
    const [one] = checks as [Check];
    const results = await guarded.consume([one], true);
    comeBack();
    expect(results).toMatchObject([{ limit: 2, used: 2, remaining: 0 }]);
    expect(await guarded.refund([one], results)).toMatchObject([{ limit: 2, used: 0, remaining: 2 }]);
  });
});

describe('a reset', () => {
  it('goes to the store and the fallback', async () => {
    const { guarded, inner, fallback, consume, goDown, comeBack } = make();
    await consume(five('a'), five('b'));
    goDown();
    await consume(five('a'), five('b'));
    comeBack();
    await guarded.reset([five('a')]);
    for (const store of [inner, fallback]) {
      expect(store.peek([five('a'), five('b')]).map(({ used }) => used)).toEqual([0, 1]);
    }
  });

  it.each(['memory', 'allow', 'deny'] as const)(
    'fails if the store fails, with any onStoreError (%s), and still deletes the counters in memory',
    async (policy) => {
      const { guarded, fallback, goDown } = make();
      fallback.consume([five('a')]);
      goDown();
      await expect(guarded.reset([five('a', policy)])).rejects.toBe(DOWN);
      expect(fallback.size).toBe(0);
    },
  );
});

describe('a store with a fallback', () => {
  it('has the health of the store', () => {
    const { guarded, goDown } = make();
    expect(guarded.health()).toMatchObject({ store: 'redis', isUp: true });
    goDown();
    expect(guarded.health()).toMatchObject({ store: 'redis', isUp: false, reason: 'down' });
  });

  it('opens the store, and closes both', async () => {
    const { guarded, calls, fallback } = make();
    fallback.consume([five('a')]);
    await guarded.open();
    await guarded.close();
    expect(calls).toEqual(['open', 'close']);
    expect(fallback.size).toBe(0);
  });

  it('throws errors that are not a failure of the store', () => {
    const error = new FreqLimitError('FREQ_LIMIT_RULE_FAILED', 'hashTag returned 5');
    const memory = new MemoryStore(10, quiet, () => 0);
    const store = Object.assign(new MemoryStore(10, quiet, () => 0), {
      consume: () => {
        throw error;
      },
    });
    const guarded = new FallbackStore(store, memory, 1);
    expect(thrownBy(() => guarded.consume([five('a', 'allow')]))).toBe(error);
  });
});
