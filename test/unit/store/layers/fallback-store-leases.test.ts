import type { Check, CheckResult } from '../../../../src/core/check.js';
import { check } from '../../../support/check.js';
import { brief, make } from './fallback-store.fixtures.js';

describe('leases in FallbackStore', () => {
  let serial = 0;
  const lease = (parts: Partial<Check> = {}): Check =>
    check('a', {
      kind: { type: 'concurrency' },
      windowMs: 15_000,
      limit: 4,
      lease: `lease-${++serial}`,
      ...parts,
    });

  async function take(store: ReturnType<typeof make>, ...checks: Check[]): Promise<CheckResult[]> {
    const results: CheckResult[] = [];
    for (const one of checks) results.push(...(await store.consume(one)));
    return results;
  }

  it('counts what this process holds in the store when that does not answer', async () => {
    const subject = make();
    await take(subject, lease(), lease(), lease());
    subject.goDown();
    expect(brief(await take(subject, lease(), lease()))).toEqual([
      ['a', true, 4, 'memory'],
      ['a', false, 4, 'memory'],
    ]);
  });

  it('takes a new lease if the process holds less than its share, and ends none', async () => {
    const subject = make(0.5);
    const [one, two, three] = [lease(), lease(), lease()];
    const results = await take(subject, one, two, three);
    subject.goDown();
    expect(brief(await take(subject, lease()))).toEqual([['a', false, 3, 'memory']]);
    subject.comeBack();
    await subject.guarded.settle([one], [results[0]!], [0]);
    subject.goDown();
    expect(brief(await take(subject, lease()))).toEqual([['a', false, 2, 'memory']]);
    subject.comeBack();
    await subject.guarded.settle([two], [results[1]!], [0]);
    subject.goDown();
    expect(brief(await take(subject, lease()))).toEqual([['a', true, 2, 'memory']]);
  });

  it('allows one at once if the share is less', async () => {
    const subject = make(0.1);
    subject.goDown();
    expect(brief(await take(subject, lease(), lease()))).toEqual([
      ['a', true, 1, 'memory'],
      ['a', false, 1, 'memory'],
    ]);
  });

  it('forgets released leases and those of denied requests', async () => {
    const subject = make();
    const mine = lease();
    const [result] = await take(subject, mine);
    await subject.guarded.settle([mine], [result!], [0]);
    await subject.consume(lease(), check('shut', { limit: 0 }));
    await subject.consume(lease({ shadow: true, limit: 0 }));
    subject.goDown();
    expect(brief(await take(subject, lease()))).toEqual([['a', true, 1, 'memory']]);
  });

  it('brings the leases that it took to the store when that answers again', async () => {
    const subject = make();
    subject.goDown();
    const mine = lease();
    const [result] = await take(subject, mine);
    expect(await subject.guarded.renew([mine])).toEqual([undefined]);
    subject.comeBack();
    expect(await subject.guarded.renew([mine])).toEqual([false]);
    expect(await subject.guarded.renew([mine])).toEqual([true]);
    expect(subject.inner.peek([lease()])).toMatchObject([{ used: 1 }]);
    // released in both places
    const settled = await subject.guarded.settle([mine], [result!], [0]);
    expect(settled).toMatchObject([{ used: 0, source: 'memory' }]);
    expect(subject.inner.peek([lease()])).toMatchObject([{ used: 0 }]);
    expect(subject.fallback.peek([lease()])).toMatchObject([{ used: 0 }]);
  });

  it('renews leases in memory too while the store does not answer', async () => {
    const subject = make();
    const mine = lease();
    await take(subject, mine);
    await subject.guarded.renew([mine]);
    subject.goDown();
    expect(await subject.guarded.renew([mine, lease()])).toEqual([undefined, undefined]);
    expect(subject.fallback.peek([lease()])).toMatchObject([{ used: 2 }]);
  });

  it("holds nothing in memory for rules with onStoreError 'allow' or 'deny'", async () => {
    const subject = make();
    const [allowing, denying] = [lease({ onStoreError: 'allow' }), lease({ onStoreError: 'deny' })];
    await take(subject, allowing, denying);
    await subject.guarded.renew([allowing, denying]);
    expect(subject.fallback.peek([lease()])).toMatchObject([{ used: 0 }]);
    subject.goDown();
    const [result] = await take(subject, allowing);
    expect(result).toMatchObject({ allowed: true, source: 'allow', concurrency: true });
    // a renewal may have brought it to the store
    subject.comeBack();
    expect(await subject.guarded.renew([allowing])).toEqual([true]);
    expect(await subject.guarded.settle([allowing], [result!], [0])).toEqual([result]);
    expect(subject.inner.peek([lease()])).toMatchObject([{ used: 1 }]);
  });

  it('settles leases together with rates, each in its place', async () => {
    const subject = make();
    const rate = check('rate', { limit: 5, cost: 3 });
    const mine = lease();
    const results = await subject.guarded.consume([rate, mine], true);
    const settled = await subject.guarded.settle([rate, mine], results, [1, 0]);
    expect(settled).toMatchObject([
      { name: 'rate', used: 1 },
      { name: 'a', used: 0 },
    ]);
    subject.goDown();
    const away = await subject.guarded.consume([mine, rate], true);
    subject.comeBack();
    expect(await subject.guarded.settle([mine, rate], away, [0, 0])).toMatchObject([
      { name: 'a', used: 0, source: 'memory' },
      { name: 'rate', used: 0, source: 'memory' },
    ]);
  });
});
