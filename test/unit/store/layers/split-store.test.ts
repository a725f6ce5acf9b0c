import type { Check, CheckResult } from '../../../../src/core/check.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { CachedCounts } from '../../../../src/store/layers/cached-counts.js';
import { SplitStore } from '../../../../src/store/layers/split-store.js';
import type { Store } from '../../../../src/core/store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';
import { refundAll } from '../../../support/refund-all.js';

const five = (key: string): Check => check(key, { limit: 5 });

function make() {
  let nowMs = 1_000_000;
  const memory = new MemoryStore(100, quiet, () => nowMs);
  const calls: [method: string, keys: string[], settleable?: boolean | undefined][] = [];
  const keys = (checks: readonly Check[]): string[] => checks.map(({ key }) => key);
  let failing: string | undefined;
  const inner: Store = {
    place: 'a test',
    consume: async (checks, settleable) => {
      calls.push(['consume', keys(checks), settleable]);
      return memory.consume(checks, settleable);
    },
    peek: async (checks) => {
      calls.push(['peek', keys(checks)]);
      return memory.peek(checks);
    },
    settle: async (checks, results, costs) => {
      calls.push(['settle', keys(checks)]);
      return memory.settle(checks, results, costs);
    },
    renew: async (checks) => {
      calls.push(['renew', keys(checks)]);
      return memory.renew(checks);
    },
    reset: async (checks) => {
      calls.push(['reset', keys(checks)]);
      memory.reset(checks);
      if (checks.some(({ key }) => key === failing)) throw new Error(`${String(failing)} is down`);
    },
    health: () => ({ store: 'redis', isUp: false, reason: 'lost', since: new Date(0) }),
    open: async () => void calls.push(['open', []]),
    close: async () => void calls.push(['close', []]),
  };
  const cachedCounts = new CachedCounts();
  const store = new SplitStore(inner, {
    groupOf: ({ key }) => key.slice(0, 1),
    cachedCounts,
    clock: () => nowMs,
  });
  const advance = (ms: number): void => void (nowMs += ms);
  return { store, calls, memory, cachedCounts, advance, fail: (key: string) => (failing = key) };
}

const names = (results: readonly CheckResult[]): string[] => results.map(({ name }) => name);

describe('SplitStore', () => {
  it.each([[undefined], [false], [true]])(
    'makes one call for a request with one group, and passes on settleable: %p',
    async (settleable) => {
      const { store, calls } = make();
      expect(names(await store.consume([five('a2'), five('a1')], settleable))).toEqual(['a2', 'a1']);
      expect(calls).toEqual([['consume', ['a2', 'a1'], settleable]]);
    },
  );

  it('makes one settleable call for each group', async () => {
    const { store, calls } = make();
    expect(names(await store.consume([five('b1'), five('a1'), five('b2')]))).toEqual(['b1', 'a1', 'b2']);
    expect(calls).toEqual([
      ['consume', ['b1', 'b2'], true],
      ['consume', ['a1'], true],
    ]);
  });

  it('refunds the other groups if one denies', async () => {
    const { store, memory } = make();
    memory.consume([check('b', { windowMs: 1 })]);
    const results = await store.consume([five('a'), check('b', { windowMs: 1 })]);
    expect(results.map(({ allowed, used }) => [allowed, used])).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(memory.size).toBe(1);
  });

  it('removes the cached counts of the checks that it refunds', async () => {
    const { store, memory, cachedCounts } = make();
    const checks = [five('a'), check('b'), five('c')];
    const denied = memory.consume([...checks, check('b')]);
    cachedCounts.add(checks, denied, 0);
    memory.consume([check('b')]);
    await store.consume(checks);
    expect(['a', 'b', 'c'].map((key) => cachedCounts.get(check(key), 0) !== undefined)).toEqual([
      false,
      true,
      false,
    ]);
  });

  describe('a request that is likely to be denied', () => {
    const address = check('a', { limit: 3 });
    const phone = (n: number): Check => check(`p${n}`);
    const methods = (calls: readonly (readonly unknown[])[]): unknown[] => calls.map(([method]) => method);

    it('is peeked at before it is charged, from its second denial on', async () => {
      const { store, calls, memory } = make();
      for (let i = 0; i < 4; i++) await store.consume([phone(i), address]);
      calls.length = 0;
      for (let i = 0; i < 10; i++) {
        const results = await store.consume([phone(i), address, five('d')]);
        expect(results.map(({ allowed }) => allowed)).toEqual([i > 2, false, true]);
      }
      expect(new Set(methods(calls))).toEqual(new Set(['peek']));
      expect(memory.size).toBe(4);
    });

    it('is peeked at if its cost alone exceeds a limit', async () => {
      const { store, calls } = make();
      await store.consume([phone(1), check('a', { limit: 3, cost: 4 })]);
      expect(methods(calls)).toEqual(['peek', 'peek']);
    });

    it('is charged at once again after its window, with a higher limit, or after a refund', async () => {
      const { store, calls, memory, advance } = make();
      const send = async (one = address): Promise<unknown[]> => {
        calls.length = 0;
        await store.consume([five('b'), one]);
        return methods(calls);
      };
      for (let i = 0; i < 3; i++) expect(await send()).toEqual(['consume', 'consume']);
      await send();
      expect(await send()).toEqual(['peek', 'peek']);
      expect(await send({ ...address, limit: 4 })).toEqual(['consume', 'consume']);
      advance(60_001);
      expect(await send()).toEqual(['consume', 'consume']);
      for (let i = 0; i < 3; i++) await send();
      memory.reset([address]);
      expect(await send()).toEqual(['peek', 'peek', 'consume', 'consume']);
      expect(await send()).toEqual(['consume', 'consume']);
    });
  });

  it('peeks at each group, and returns the results in order', async () => {
    const { store, memory } = make();
    memory.consume([five('b')]);
    const results = await store.peek([five('b'), five('a'), five('b')]);
    expect(results.map(({ name, used }) => [name, used])).toEqual([
      ['b', 1],
      ['a', 0],
      ['b', 1],
    ]);
    expect(memory.size).toBe(1);
  });

  it('refunds each group its own checks', async () => {
    const { store, memory } = make();
    const checks = [five('b'), five('a'), five('b')];
    const results = await store.consume(checks);
    const after = await refundAll(store, checks, results);
    expect(after.map(({ name, used }) => [name, used])).toEqual([
      ['b', 0],
      ['a', 0],
      ['b', 0],
    ]);
    expect(memory.size).toBe(0);
  });

  it('renews the leases of each group in one call, and returns the outcomes in order', async () => {
    const { store, calls } = make();
    const lease = (key: string, id: string): Check =>
      check(key, { kind: { type: 'concurrency' }, limit: 5, lease: id });
    await store.consume([lease('a1', 'one'), lease('b1', 'two')]);
    calls.splice(0);
    const renewed = await store.renew([
      lease('b1', 'two'),
      lease('a1', 'new'),
      lease('b2', 'new'),
      lease('a1', 'one'),
    ]);
    expect(renewed).toEqual([true, false, false, true]);
    expect(calls).toEqual([
      ['renew', ['b1', 'b2']],
      ['renew', ['a1', 'a1']],
    ]);
  });

  it('resets every group, even if one of them fails', async () => {
    const { store, memory, fail } = make();
    memory.consume([five('a'), five('b'), five('c')]);
    fail('b');
    await expect(store.reset([five('a'), five('b'), five('c')])).rejects.toThrow('b is down');
    expect(memory.size).toBe(0);
  });

  it.each(['consume', 'peek', 'reset'] as const)('makes no call for a %s without checks', async (method) => {
    const { store, calls } = make();
    await store[method]([]);
    expect(calls).toEqual([]);
  });

  it('has the health of its store, and opens and closes it', async () => {
    const { store, calls } = make();
    expect(store.health()).toEqual({ store: 'redis', isUp: false, reason: 'lost', since: new Date(0) });
    await store.open();
    await store.close();
    expect(calls.map(([method]) => method)).toEqual(['open', 'close']);
  });

  it('throws if a group cannot be named, and charges nothing', () => {
    const { calls } = make();
    const inner = make();
    const store = new SplitStore(inner.store, {
      groupOf: ({ key }) => {
        if (key === 'b') throw new Error('no group');
        return key;
      },
    });
    expect(() => store.consume([five('a'), five('b')])).toThrow('no group');
    expect(calls).toEqual([]);
    expect(inner.calls).toEqual([]);
  });
});
