import type { Check, CheckResult } from '../../../../src/core/check.js';
import { type Store, withHooks } from '../../../../src/core/store.js';
import { DenyCache } from '../../../../src/store/layers/deny-cache.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';

let serial = 0;
const lease = (parts: Partial<Check> = {}): Check =>
  check('running', {
    kind: { type: 'concurrency' },
    group: 'leases',
    windowMs: 15_000,
    lease: `lease-${++serial}`,
    ...parts,
  });

function make() {
  const inner = new MemoryStore(1_000, quiet, () => 1_000_000);
  let calls = 0;
  const consume: Store['consume'] = (checks, settleable, _, hooks) => {
    calls++;
    return withHooks(Promise.resolve(inner.consume(checks, settleable)), hooks);
  };
  const store = Object.assign(Object.create(inner) as Store, { consume });
  const cache = new DenyCache(store, () => 1_000_000);
  return {
    cache,
    calls: () => calls,
    consume: async (...checks: Check[]): Promise<CheckResult[]> => cache.consume(checks),
  };
}

describe('leases and the deny cache', () => {
  it('asks the store again for each request that was denied for lack of a lease', async () => {
    const { cache, calls, consume } = make();
    const mine = lease();
    const [result] = await consume(mine);
    for (let i = 0; i < 3; i++) expect(await consume(lease())).toMatchObject([{ allowed: false }]);
    expect(calls()).toBe(4);
    await cache.settle([mine], [result!], [0]);
    expect(await consume(lease())).toMatchObject([{ allowed: true }]);
  });

  it('still denies from memory what a rate denies, and says nothing of the leases', async () => {
    const { calls, consume } = make();
    const rate = check('rate', { limit: 1 });
    await consume(rate, lease());
    await consume(rate, lease({ limit: 5 }));
    expect(await consume(rate, lease({ limit: 5 }))).toMatchObject([
      { allowed: false, source: 'store', used: 1 },
      { allowed: true, source: 'none', used: 0, concurrency: true },
    ]);
    expect(await consume(rate, lease({ limit: 0 }))).toMatchObject([
      { allowed: false },
      { allowed: false, retryAfterMs: 1_000 },
    ]);
    expect(calls()).toBe(2);
  });

  it('keeps what it knows of rates when a lease is released', async () => {
    const { cache, calls, consume } = make();
    const [mine, rate] = [lease(), check('rate', { limit: 1 })];
    const results = await consume(mine, rate);
    const denied = consume(rate);
    await cache.settle([mine], [results[0]!], [0]);
    await denied;
    await consume(rate);
    expect(calls()).toBe(2);
  });
});
