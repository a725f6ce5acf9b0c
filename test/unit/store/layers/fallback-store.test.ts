import type { OnStoreError } from '../../../../src/core/check.js';
import { FreqLimitError } from '../../../../src/core/errors.js';
import { toVerdict } from '../../../../src/core/verdict.js';
import { FallbackStore } from '../../../../src/store/layers/fallback-store.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { quiet } from '../../../support/subjects.js';
import { thrownBy } from '../../fixtures.js';
import { brief, DOWN, five, make } from './fallback-store.fixtures.js';
import { refundAll } from '../../../support/refund-all.js';

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

  it('gets whether the results are settleable', async () => {
    const { guarded, inner } = make();
    const checks = [five('a')];
    const plain = await guarded.consume(checks);
    expect(refundAll(inner, checks, plain)).toMatchObject([{ used: 1 }]);
    const settleable = await guarded.consume(checks, true);
    expect(refundAll(inner, checks, settleable)).toMatchObject([{ used: 1 }]);
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
    expect(results[2]).toMatchObject({ resetAfterMs: 60_000, retryAfterMs: 60_001, remaining: 0 });
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

describe('the rest', () => {
  it('is as well as its store', () => {
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
