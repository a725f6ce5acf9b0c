import fc from 'fast-check';
import type { Check, CheckResult } from '../../../src/core/check.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import {
  consumeInGroups,
  inOriginalOrder,
  peekBeforeConsume,
  type GroupStore,
  groupChecks,
} from '../../../src/core/split-request.js';
import { check } from '../../support/check.js';
import { quiet } from '../../support/subjects.js';
import { result } from '../fixtures.js';

/** The group of a check is the first letter of its key. */
const groupOf = ({ key }: Check): string => key.slice(0, 1);

function memory() {
  let nowMs = 1_000_000;
  const store = new MemoryStore(100_000, quiet, () => nowMs);
  return { store, advance: (ms: number) => void (nowMs += ms) };
}

/** A memory store whose groups can fail, and which notes its calls. */
function failing(errors: Readonly<Record<string, Error>> = {}) {
  const { store } = memory();
  const refunds: string[] = [];
  const settleables: boolean[] = [];
  const groupStore: GroupStore = {
    consume: async (checks, settleable) => {
      settleables.push(settleable);
      const error = errors[groupOf(checks[0]!)];
      if (error !== undefined) throw error;
      return store.consume(checks, settleable);
    },
    settle: async (checks, results, costs) => {
      refunds.push(...checks.map(({ key }) => key));
      return store.settle(checks, results, costs);
    },
  };
  const used = (key: string): number => store.peek([check(key)])[0]!.used;
  const consume = (...checks: Check[]): Promise<CheckResult[]> =>
    consumeInGroups(groupChecks(checks, groupOf), groupStore);
  return { consume, refunds, settleables, used, store };
}

const keysOf = (results: readonly CheckResult[]): string[] => results.map(({ name }) => name);
const five = (key: string, parts: Partial<Check> = {}): Check => check(key, { limit: 5, ...parts });
const shut = (key: string): Check => check(key, { limit: 0 });

describe('groupChecks', () => {
  it('groups checks in their order, with their indexes', () => {
    const [a1, b1, a2, c1, b2] = ['a1', 'b1', 'a2', 'c1', 'b2'].map((key) => check(key)) as [
      Check,
      Check,
      Check,
      Check,
      Check,
    ];
    expect(groupChecks([a1, b1, a2, c1, b2], groupOf)).toEqual([
      { checks: [a1, a2], indexes: [0, 2] },
      { checks: [b1, b2], indexes: [1, 4] },
      { checks: [c1], indexes: [3] },
    ]);
  });

  it('returns no group for no checks, and one for checks of one group', () => {
    expect(groupChecks([], groupOf)).toEqual([]);
    expect(groupChecks([check('a'), check('a')], groupOf)).toHaveLength(1);
  });

  it('accepts any string as the name of a group', () => {
    const checks = ['__proto__', 'constructor', '', '__proto__'].map((key) => check(key));
    expect(groupChecks(checks, ({ key }) => key).map(({ indexes }) => indexes)).toEqual([[0, 3], [1], [2]]);
  });
});

describe('inOriginalOrder', () => {
  it('returns the results in the order of the checks', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }), (letters) => {
        const checks = letters.map((letter, i) => check(`${letter}${i}`));
        const groups = groupChecks(checks, groupOf);
        const results = groups.map((group) => group.checks.map(({ key }) => result({ name: key })));
        expect(keysOf(inOriginalOrder(groups, results))).toEqual(checks.map(({ key }) => key));
      }),
    );
  });
});

describe('a request in groups', () => {
  it('is charged if all groups allow it', async () => {
    const { consume, refunds, settleables, used } = failing();
    const results = await consume(five('b'), five('a', { cost: 2 }), five('b'), five('c', { cost: 0 }));
    expect(keysOf(results)).toEqual(['b', 'a', 'b', 'c']);
    expect(results.map((one) => [one.allowed, one.used])).toEqual([
      [true, 1],
      [true, 2],
      [true, 2],
      [true, 0],
    ]);
    expect(['a', 'b', 'c'].map(used)).toEqual([2, 2, 0]);
    expect(refunds).toEqual([]);
    expect(settleables).toEqual([true, true, true]);
  });

  it('is refunded in the other groups if one group denies it', async () => {
    const { consume, used, store } = failing();
    store.consume([five('a1', { cost: 3 })]);
    const results = await consume(five('a1'), shut('b'), five('c', { cost: 4 }), five('a2'));
    expect(results.map((one) => [one.name, one.allowed, one.used, one.remaining])).toEqual([
      ['a1', true, 3, 2],
      ['b', false, 0, 0],
      ['c', true, 0, 5],
      ['a2', true, 0, 5],
    ]);
    expect(results[0]).toMatchObject({ resetAfterMs: 60_000 });
    expect(results[2]).toMatchObject({ resetAfterMs: 0, retryAfterMs: 0 });
    expect(['a1', 'a2', 'b', 'c'].map(used)).toEqual([3, 0, 0, 0]);
  });

  it('is not refunded in a group that denies it or charged nothing', async () => {
    const { consume, refunds } = failing();
    await consume(five('a1'), shut('a2'), five('b', { cost: 0 }), five('c', { countDenied: true }));
    expect(refunds).toEqual([]);
  });

  it('is not refunded for checks with countDenied', async () => {
    const { consume, used, refunds } = failing();
    const results = await consume(five('a1', { countDenied: true, cost: 2 }), five('a2'), shut('b'));
    expect(results.map((one) => one.used)).toEqual([2, 0, 0]);
    expect(['a1', 'a2'].map(used)).toEqual([2, 0]);
    expect(refunds).toEqual(['a2']);
  });

  it('has the final count in all checks of one counter', async () => {
    const { consume } = failing();
    const results = await consume(five('a'), five('a', { cost: 2, countDenied: true }), shut('b'));
    expect(results.map((one) => one.used)).toEqual([2, 2, 0]);
  });

  it('has the final count if all checks of a counter have countDenied or no cost', async () => {
    const { consume, used } = failing();
    const counting = five('a', { countDenied: true });
    const results = await consume(five('a', { cost: 0 }), counting, counting, shut('b'));
    expect(results.map((one) => one.used)).toEqual([2, 2, 2, 0]);
    expect(used('a')).toBe(2);
  });

  it('is refunded if a group fails, and fails with its error', async () => {
    const error = new Error('b is down');
    const { consume, used } = failing({ b: error });
    await expect(consume(five('a'), five('b'), five('c'))).rejects.toBe(error);
    expect(['a', 'c'].map(used)).toEqual([0, 0]);
  });

  it('fails with the first of several errors', async () => {
    const errors = { a: new Error('a is down'), c: new Error('c is down') };
    const { consume } = failing(errors);
    await expect(consume(five('c'), five('a'), five('b'))).rejects.toBe(errors.c);
  });

  it('fails if one group fails and another denies it', async () => {
    const error = new Error('b is down');
    const { consume, used } = failing({ b: error });
    await expect(consume(five('a'), five('b'), shut('c'))).rejects.toBe(error);
    expect(used('a')).toBe(0);
  });

  it('is not refunded for checks with countDenied if another group fails', async () => {
    const { consume, used } = failing({ b: new Error('b is down') });
    await expect(consume(five('a', { countDenied: true }), five('b'))).rejects.toThrow('b is down');
    expect(used('a')).toBe(1);
  });

  it('fails if the store throws instead of rejecting', async () => {
    const { store } = memory();
    const thrower: GroupStore = {
      consume: (checks, settleable) => {
        if (checks[0]!.key === 'b') throw new Error('at once');
        return store.consume(checks, settleable);
      },
      settle: (checks, results, costs) => store.settle(checks, results, costs),
    };
    const groups = groupChecks([five('a'), five('b'), five('c')], groupOf);
    await expect(consumeInGroups(groups, thrower)).rejects.toThrow('at once');
    expect(store.size).toBe(0);
  });

  it('is refunded after all groups have answered', async () => {
    const { store } = memory();
    const steps: string[] = [];
    const slow: GroupStore = {
      consume: async (checks, settleable) => {
        const [{ key }] = checks as [Check];
        for (let turn = 0; turn < (key === 'c' ? 20 : 0); turn++) await Promise.resolve();
        steps.push(`consume ${key}`);
        return store.consume(checks, settleable);
      },
      settle: (checks, results, costs) => {
        steps.push(`refund ${checks[0]!.key}`);
        return store.settle(checks, results, costs);
      },
    };
    await consumeInGroups(groupChecks([five('a'), shut('b'), five('c')], groupOf), slow);
    expect(steps).toEqual(['consume a', 'consume b', 'consume c', 'refund a', 'refund c']);
    expect(store.size).toBe(0);
  });

  it('keeps the limit and the source of each group', async () => {
    const { store } = memory();
    const shared = new MemoryStore(100, quiet, () => 1_000_000, 'memory');
    const half = (checks: readonly Check[]): Check[] => checks.map((one) => ({ ...one, limit: 2 }));
    const groupStore: GroupStore = {
      consume: (checks, settleable) =>
        checks[0]!.key === 'a' ? shared.consume(half(checks), settleable) : store.consume(checks, settleable),
      settle: (checks, results, costs) =>
        checks[0]!.key === 'a' ? shared.settle(checks, results, costs) : store.settle(checks, results, costs),
    };
    const [first] = await consumeInGroups(groupChecks([five('a'), shut('b')], groupOf), groupStore);
    expect(first).toMatchObject({ limit: 2, used: 0, remaining: 2, source: 'memory', allowed: true });
  });
});

describe('a request in groups that is peeked at first', () => {
  /** Notes the calls by group; calls in `errors` fail. */
  function peeking(errors: Readonly<Record<string, Error>> = {}) {
    const { store } = memory();
    const calls: string[] = [];
    let afterPeeks = (): void => undefined;
    const note = (method: string, checks: readonly Check[]): void => {
      const letter = groupOf(checks[0]!);
      calls.push(`${method} ${letter}`);
      if (errors[`${method} ${letter}`] !== undefined) throw errors[`${method} ${letter}`]!;
    };
    const queuedAt: (number | undefined)[] = [];
    const consume = (...checks: Check[]): Promise<CheckResult[]> =>
      peekBeforeConsume(
        groupChecks(checks, groupOf),
        {
          consume: async (its, settleable, queuedAtMs) => {
            afterPeeks();
            note('consume', its);
            queuedAt.push(queuedAtMs);
            return store.consume(its, settleable);
          },
          peek: async (its) => {
            note('peek', its);
            return store.peek(its);
          },
          settle: async (its, results, costs) => {
            note('refund', its);
            return store.settle(its, results, costs);
          },
        },
        123,
      );
    const used = (key: string): number => store.peek([check(key)])[0]!.used;
    return { consume, calls, queuedAt, used, store, meanwhile: (run: () => void) => (afterPeeks = run) };
  }

  it('is not charged if a peek denies it, and has the results of a denied request', async () => {
    const { consume, calls, store } = peeking();
    store.consume([five('a1', { cost: 4 })]);
    const results = await consume(five('a1'), five('a1'), shut('b'), five('c', { cost: 6 }));
    expect(calls).toEqual(['peek a', 'peek b', 'peek c']);
    expect(results.map((one) => [one.name, one.allowed, one.used])).toEqual([
      ['a1', true, 4],
      ['a1', false, 4],
      ['b', false, 0],
      ['c', false, 0],
    ]);
    expect(store.size).toBe(1);
  });

  it('is charged in parallel if all peeks allow it, in the remaining time', async () => {
    const { consume, calls, used, queuedAt } = peeking();
    expect((await consume(five('a'), five('b'))).map((one) => one.used)).toEqual([1, 1]);
    expect(calls).toEqual(['peek a', 'peek b', 'consume a', 'consume b']);
    expect(queuedAt).toEqual([123, 123]);
    expect(['a', 'b'].map(used)).toEqual([1, 1]);
  });

  it('is refunded if a group denies it after the peek has allowed it', async () => {
    const { consume, used, store, meanwhile } = peeking();
    let isFirst = true;
    meanwhile(() => {
      if (isFirst) store.consume([check('b')]);
      isFirst = false;
    });
    const results = await consume(five('a'), check('b'));
    expect(results.map((one) => [one.allowed, one.used])).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(used('a')).toBe(0);
  });

  it('is charged at once for checks with countDenied, and refunded for the others of their group', async () => {
    const { consume, calls, used } = peeking();
    const results = await consume(five('a1', { countDenied: true }), five('a2'), shut('b'));
    expect(calls).toEqual(['peek b', 'consume a', 'refund a']);
    expect(results.map((one) => [one.allowed, one.used])).toEqual([
      [true, 1],
      [true, 0],
      [false, 0],
    ]);
    expect(['a1', 'a2'].map(used)).toEqual([1, 0]);
  });

  it('is not charged in the other groups if a group with countDenied denies it', async () => {
    const { consume, calls } = peeking();
    const results = await consume(five('a', { countDenied: true, limit: 0 }), five('b'));
    expect(calls).toEqual(['peek b', 'consume a']);
    expect(results.map((one) => [one.allowed, one.used])).toEqual([
      [false, 1],
      [true, 0],
    ]);
  });

  it.each(['peek c', 'consume c'])('fails with the error of %s, and is refunded', async (failing) => {
    const error = new Error('c is down');
    const { consume, used } = peeking({ [failing]: error });
    await expect(consume(five('a1', { countDenied: true }), five('a2'), five('b'), five('c'))).rejects.toBe(
      error,
    );
    await new Promise(setImmediate);
    expect(['a1', 'a2', 'b', 'c'].map(used)).toEqual([1, 0, 0, 0]);
  });

  it('fails with the error of the group that is charged first, whatever the peeks return', async () => {
    const [one, other] = [new Error('a is down'), new Error('b is down')];
    const { consume } = peeking({ 'consume a': one, 'peek b': other });
    await expect(consume(five('a', { countDenied: true }), five('b'))).rejects.toBe(one);
  });

  it('does not change results with the source allow', async () => {
    const open = { ...result({ name: 'a' }), source: 'allow' } as const;
    const results = await peekBeforeConsume(
      groupChecks([five('a'), shut('b')], groupOf),
      {
        consume: () => [],
        settle: () => [],
        peek: ([first]) => (first!.key === 'a' ? [open] : memory().store.peek([first!])),
      },
      0,
    );
    expect(results[0]).toBe(open);
  });
});

describe('any history of requests in groups', () => {
  const windows = [1_000, 60_000];
  const checks: fc.Arbitrary<Check> = fc
    .record({
      letter: fc.constantFrom('a', 'b', 'c'),
      n: fc.integer({ min: 0, max: 2 }),
      limit: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constant(Infinity)),
      cost: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 6 })),
      countDenied: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
    })
    .map(({ letter, n, ...parts }) => check(`${letter}${n}`, { windowMs: windows[n % 2]!, ...parts }));
  const step = fc.record({
    checks: fc.array(checks, { minLength: 1, maxLength: 6 }),
    waitMs: fc.constantFrom(0, 0, 400, 1_000, 1_001, 60_001),
  });

  it.each([
    ['charged at once', consumeInGroups],
    ['peeked at first', peekBeforeConsume],
  ])('has the same results and counters as in a single store: %s', async (_, decide) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (history) => {
        const [alone, split] = [memory(), memory()];
        for (const one of history) {
          for (const { advance } of [alone, split]) advance(one.waitMs);
          expect(await decide(groupChecks(one.checks, groupOf), split.store, 0)).toEqual(
            alone.store.consume(one.checks),
          );
        }
        const all = ['a', 'b', 'c'].flatMap((letter) => [0, 1, 2].map((n) => check(`${letter}${n}`)));
        expect(split.store.peek(all)).toEqual(alone.store.peek(all));
      }),
      { numRuns: 300 },
    );
  });
});
