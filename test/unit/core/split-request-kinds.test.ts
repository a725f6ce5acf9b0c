import type { Check, CheckResult } from '../../../src/core/check.js';
import type { Block, CounterKind } from '../../../src/core/counter-kind.js';
import {
  consumeInGroups,
  groupChecks,
  peekBeforeConsume,
  type PeekingStore,
} from '../../../src/core/split-request.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import { check } from '../../support/check.js';
import { quiet } from '../../support/subjects.js';

const BUCKET: CounterKind = { type: 'token-bucket', burst: 10 };
const SLIDING: CounterKind = { type: 'sliding-window' };
const BLOCK: Block = { stepsMs: [600_000], forgiveAfterMs: 86_400_000 };

/** A store whose groups are the first letters of keys. */
function subject() {
  let nowMs = 1_000_000;
  const store = new MemoryStore(1_000, quiet, () => nowMs);
  const groupsOf = (checks: Check[]) => groupChecks(checks, ({ key }) => key.slice(0, 1));
  return {
    store,
    advance: (ms: number) => void (nowMs += ms),
    charge: (...checks: Check[]): Promise<CheckResult[]> => consumeInGroups(groupsOf(checks), store),
    peekFirst: (...checks: Check[]): Promise<CheckResult[]> =>
      peekBeforeConsume(groupsOf(checks), store, nowMs),
  };
}

const shut = check('x', { limit: 0 });
const bucket = check('b', { kind: BUCKET, limit: 6, cost: 4 });
const blocking = (key: string): Check => check(key, { block: BLOCK, limit: 2 });

describe.each(['charge', 'peekFirst'] as const)('a request in groups, with %s', (way) => {
  it('passes though a shadow rule would deny it', async () => {
    const ways = subject();
    const tried = check('s', { kind: SLIDING, shadow: true, limit: 1 });
    for (const used of [1, 2, 3]) {
      const [first, second] = await ways[way](check('a', { limit: 9 }), tried);
      expect(first).toMatchObject({ allowed: true, used });
      expect(second).toMatchObject({ allowed: used === 1, used: 1 });
    }
  });

  it('has the numbers of each kind if another group denies', async () => {
    const { store, ...ways } = subject();
    store.consume([bucket]);
    store.consume([blocking('c')]);
    const results = await ways[way](bucket, blocking('c'), shut);
    expect(
      results.map(({ allowed, used, remaining, resetAfterMs, retryAfterMs }) => [
        allowed,
        used,
        remaining,
        resetAfterMs,
        retryAfterMs,
      ]),
    ).toEqual([
      [true, 4, 6, 40_000, 0],
      [true, 1, 1, 60_000, 0],
      [false, 0, 0, 0, 60_000],
    ]);
  });

  it('says when a bucket will allow it', async () => {
    const { store, ...ways } = subject();
    store.consume([{ ...bucket, cost: 9 }]);
    const [denied, other] = await ways[way](bucket, check('a', { limit: 9 }));
    // 3 of 4 units are missing, and one flows in every 10 seconds
    expect(denied).toMatchObject({ allowed: false, used: 9, remaining: 1, retryAfterMs: 30_000 });
    expect(other).toMatchObject({ allowed: true, used: 0 });
  });

  it('begins the block of a group that denies', async () => {
    const { store, ...ways } = subject();
    store.consume([blocking('c'), blocking('c')]);
    const other = check('a', { limit: 9 });
    for (const leftMs of [600_000, 599_000]) {
      const [denied, allowed] = await ways[way](blocking('c'), other);
      expect(denied).toMatchObject({ allowed: false, blocked: true, retryAfterMs: leftMs });
      expect(allowed).toMatchObject({ allowed: true, used: 0 });
      ways.advance(1_000);
    }
  });

  it('adds up the costs of checks on one counter', async () => {
    const { store, ...ways } = subject();
    const results = await ways[way](bucket, bucket, bucket, check('a', { limit: 9 }));
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, false, true]);
    expect(results[2]?.retryAfterMs).toBeGreaterThan(0);
    expect(store.peek([bucket])[0]?.used).toBe(0);
  });
});

describe('a block that a denied request would begin', () => {
  it('does not begin if the counter was refunded since the peek, and nothing is charged', async () => {
    const { store } = subject();
    store.consume([blocking('c'), blocking('c')]);
    const racing = {
      ...peekingStore(store),
      peek: (checks: readonly Check[]) => {
        const peeked = store.peek(checks);
        if (checks.some(({ key }) => key === 'c')) store.reset([blocking('c')]);
        return peeked;
      },
    };
    const checks = [blocking('c'), check('a', { limit: 9 })];
    const results = await peekBeforeConsume(
      groupChecks(checks, ({ key }) => key),
      racing,
      0,
    );
    // the request was denied by the peek
    expect(results.map(({ allowed }) => allowed)).toEqual([false, true]);
    expect(store.peek(checks).map(({ used }) => used)).toEqual([0, 0]);
  });
});

function peekingStore(store: MemoryStore): PeekingStore {
  return {
    consume: (checks, settleable) => store.consume(checks, settleable),
    peek: (checks) => store.peek(checks),
    settle: (checks, results, costs) => store.settle(checks, results, costs),
  };
}
