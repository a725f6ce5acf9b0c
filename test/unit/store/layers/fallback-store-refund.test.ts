import type { Check, CheckResult } from '../../../../src/core/check.js';
import { brief, DOWN, five, make } from './fallback-store.fixtures.js';
import { refundAll } from '../../../support/refund-all.js';

describe('a refund', () => {
  const checks = [five('a', 'memory', { cost: 2 }), five('b', 'allow'), five('c', 'memory', { cost: 3 })];

  it('goes to the store if the store has answered', async () => {
    const { guarded, inner, fallback } = make();
    const results = await guarded.consume(checks, true);
    expect(brief(await refundAll(guarded, checks, results))).toEqual([
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
    const after = await refundAll(guarded, checks, results);
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
    expect(brief(await refundAll(guarded, [c, b, a], [ofC, ofB, ofA]))).toEqual([
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
    await refundAll(guarded, checks, results).catch(() => undefined);
    await refundAll(guarded, checks, results).catch(() => undefined);
    expect(fallback.peek(checks).map(({ used }) => used)).toEqual([2, 0, 3]);
  });

  it('returns the share that the request was decided by', async () => {
    const { guarded, goDown, comeBack } = make(0.5);
    goDown();
    const [one] = checks as [Check];
    const results = await guarded.consume([one], true);
    comeBack();
    expect(results).toMatchObject([{ limit: 2, used: 2, remaining: 0 }]);
    expect(await refundAll(guarded, [one], results)).toMatchObject([{ limit: 2, used: 0, remaining: 2 }]);
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
