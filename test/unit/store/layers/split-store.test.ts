import type { Check, CheckResult } from '../../../../src/core/check.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { SplitStore } from '../../../../src/store/layers/split-store.js';
import type { Store } from '../../../../src/core/store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';

const five = (key: string): Check => check(key, { limit: 5 });

function make() {
  let nowMs = 1_000_000;
  const memory = new MemoryStore(100, quiet, () => nowMs);
  const asked: [method: string, keys: string[], refundable?: boolean | undefined][] = [];
  const keys = (checks: readonly Check[]): string[] => checks.map(({ key }) => key);
  let failing: string | undefined;
  const inner: Store = {
    consume: async (checks, refundable) => {
      asked.push(['consume', keys(checks), refundable]);
      return memory.consume(checks, refundable);
    },
    peek: async (checks) => {
      asked.push(['peek', keys(checks)]);
      return memory.peek(checks);
    },
    refund: async (checks, results) => {
      asked.push(['refund', keys(checks)]);
      return memory.refund(checks, results);
    },
    reset: async (checks) => {
      asked.push(['reset', keys(checks)]);
      memory.reset(checks);
      if (checks.some(({ key }) => key === failing)) throw new Error(`${String(failing)} is down`);
    },
    health: () => ({ store: 'redis', isUp: false, reason: 'lost', since: new Date(0) }),
    open: async () => void asked.push(['open', []]),
    close: async () => void asked.push(['close', []]),
  };
  const store = new SplitStore(
    inner,
    ({ key }) => key.slice(0, 1),
    (checks) => asked.push(['about to refund', keys(checks)]),
    () => nowMs,
  );
  const advance = (ms: number): void => void (nowMs += ms);
  return { store, asked, memory, advance, fail: (key: string) => (failing = key) };
}

const names = (results: readonly CheckResult[]): string[] => results.map(({ name }) => name);

describe('PartedStore', () => {
  it.each([[undefined], [false], [true]])(
    'asks once for what lies together, refundable: %p as it was asked',
    async (refundable) => {
      const { store, asked } = make();
      expect(names(await store.consume([five('a2'), five('a1')], refundable))).toEqual(['a2', 'a1']);
      expect(asked).toEqual([['consume', ['a2', 'a1'], refundable]]);
    },
  );

  it('asks each part once, and may have it back', async () => {
    const { store, asked } = make();
    expect(names(await store.consume([five('b1'), five('a1'), five('b2')]))).toEqual(['b1', 'a1', 'b2']);
    expect(asked).toEqual([
      ['consume', ['b1', 'b2'], true],
      ['consume', ['a1'], true],
    ]);
  });

  it('gives back when one part denies', async () => {
    const { store, memory } = make();
    memory.consume([check('b', { windowMs: 1 })]);
    const results = await store.consume([five('a'), check('b', { windowMs: 1 })]);
    expect(results.map(({ allowed, used }) => [allowed, used])).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(memory.size).toBe(1);
  });

  it('says what is given back before it is', async () => {
    const { store, asked, memory } = make();
    memory.consume([check('b')]);
    await store.consume([five('a'), check('b'), five('c')]);
    expect(asked.slice(3)).toEqual([
      ['about to refund', ['a']],
      ['refund', ['a']],
      ['about to refund', ['c']],
      ['refund', ['c']],
    ]);
  });

  describe('a request that is likely to be denied', () => {
    const address = check('a', { limit: 3 });
    const phone = (n: number): Check => check(`p${n}`);
    const methods = (asked: readonly (readonly unknown[])[]): unknown[] => asked.map(([method]) => method);

    it('is looked at before it is charged, from its second denial on', async () => {
      const { store, asked, memory } = make();
      for (let i = 0; i < 4; i++) await store.consume([phone(i), address]);
      asked.length = 0;
      for (let i = 0; i < 10; i++) {
        const results = await store.consume([phone(i), address, five('d')]);
        expect(results.map(({ allowed }) => allowed)).toEqual([i > 2, false, true]);
      }
      expect(new Set(methods(asked))).toEqual(new Set(['peek']));
      expect(memory.size).toBe(4);
    });

    it('is looked at where its cost alone is above a limit', async () => {
      const { store, asked } = make();
      await store.consume([phone(1), check('a', { limit: 3, cost: 4 })]);
      expect(methods(asked)).toEqual(['peek', 'peek']);
    });

    it('is charged at once again when its window has ended, its limit has risen or it was given back', async () => {
      const { store, asked, memory, advance } = make();
      const ask = async (one = address): Promise<unknown[]> => {
        asked.length = 0;
        await store.consume([five('b'), one]);
        return methods(asked);
      };
      for (let i = 0; i < 3; i++) expect(await ask()).toEqual(['consume', 'consume']);
      await ask();
      expect(await ask()).toEqual(['peek', 'peek']);
      expect(await ask({ ...address, limit: 4 })).toEqual(['consume', 'consume']);
      advance(60_001);
      expect(await ask()).toEqual(['consume', 'consume']);
      for (let i = 0; i < 3; i++) await ask();
      memory.reset([address]);
      expect(await ask()).toEqual(['peek', 'peek', 'consume', 'consume']);
      expect(await ask()).toEqual(['consume', 'consume']);
    });
  });

  it('looks at each part, and answers in order', async () => {
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

  it('gives back to each part what was its own', async () => {
    const { store, memory } = make();
    const checks = [five('b'), five('a'), five('b')];
    const results = await store.consume(checks);
    const after = await store.refund(checks, results);
    expect(after.map(({ name, used }) => [name, used])).toEqual([
      ['b', 0],
      ['a', 0],
      ['b', 0],
    ]);
    expect(memory.size).toBe(0);
  });

  it('forgets in every part, also when one of them fails', async () => {
    const { store, memory, fail } = make();
    memory.consume([five('a'), five('b'), five('c')]);
    fail('b');
    await expect(store.reset([five('a'), five('b'), five('c')])).rejects.toThrow('b is down');
    expect(memory.size).toBe(0);
  });

  it.each(['consume', 'peek', 'reset'] as const)('asks nothing of a %s of nothing', async (method) => {
    const { store, asked } = make();
    await store[method]([]);
    expect(asked).toEqual([]);
  });

  it('is as well as its store, and opens and closes it', async () => {
    const { store, asked } = make();
    expect(store.health()).toEqual({ store: 'redis', isUp: false, reason: 'lost', since: new Date(0) });
    await store.open();
    await store.close();
    expect(asked.map(([method]) => method)).toEqual(['open', 'close']);
  });

  it('fails at once where a part cannot be named, and charges nothing', () => {
    const { asked } = make();
    const inner = make();
    const store = new SplitStore(inner.store, ({ key }) => {
      if (key === 'b') throw new Error('no part');
      return key;
    });
    expect(() => store.consume([five('a'), five('b')])).toThrow('no part');
    expect(asked).toEqual([]);
    expect(inner.asked).toEqual([]);
  });
});
