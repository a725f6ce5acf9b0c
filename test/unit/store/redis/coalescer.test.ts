import { jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Check, CheckResult } from '../../../../src/core/check.js';
import { type Batch, PendingRequest } from '../../../../src/store/redis/batch.js';
import { Coalescer } from '../../../../src/store/redis/coalescer.js';
import { check } from '../../../support/check.js';
import { result } from '../../fixtures.js';

/** Notes what is sent: for each turn its calls, for each call its requests' first keys. */
function make(coalesce = true) {
  const turns: string[][][] = [];
  const sent: Batch[] = [];
  const coalescer = new Coalescer(
    {
      write: (batches) => {
        turns.push(batches.map(({ requests }) => requests.map(({ checks }) => checks[0]!.key)));
        sent.push(...batches);
      },
      close: () => undefined,
    },
    coalesce,
  );
  const add = (tag: string, ...checks: Check[]): Promise<CheckResult[]> => {
    const request = new PendingRequest(checks, true);
    coalescer.add(tag, request);
    return request.promise;
  };
  return { coalescer, add, turns, sent };
}

describe('requests of one turn', () => {
  it('are sent together at its end, in the order of arrival', async () => {
    const { add, turns } = make();
    for (const key of ['a', 'b', 'a']) void add('', check(key));
    await Promise.resolve();
    expect(turns).toEqual([]);
    await nextTurn();
    expect(turns).toEqual([[['a', 'b', 'a']]]);
  });

  it('are sent in one call for each hash tag, all at once', async () => {
    const { add, turns } = make();
    for (const [tag, key] of [
      ['1', 'a'],
      ['2', 'b'],
      ['1', 'c'],
      ['', 'd'],
    ] as const)
      void add(tag, check(key));
    await nextTurn();
    expect(turns).toEqual([[['a', 'c'], ['b'], ['d']]]);
  });

  it('are sent in several calls if one is full, and keep their order', async () => {
    const { add, turns } = make();
    const wide = (name: string): Check[] => Array.from({ length: 80 }, (_, i) => check(`${name}${i}`));
    void add('1', ...wide('a'));
    void add('1', ...wide('b'));
    void add('2', check('c'));
    void add('1', check('d'));
    await nextTurn();
    expect(turns).toEqual([[['a0'], ['b0', 'd'], ['c']]]);
  });

  it('find their batch again after one with another hash tag, also in the next turn', async () => {
    const { add, turns } = make();
    for (let turn = 0; turn < 2; turn++) {
      for (const tag of ['1', '2', '1', '3', '2', '']) void add(tag, check(`${tag} of ${turn}`));
      await nextTurn();
    }
    expect(turns).toEqual(
      [0, 1].map((n) => [
        [`1 of ${n}`, `1 of ${n}`],
        [`2 of ${n}`, `2 of ${n}`],
        [`3 of ${n}`],
        [` of ${n}`],
      ]),
    );
  });

  it('share a call only with requests that need the same script', async () => {
    const { add, turns, sent } = make();
    const sliding = (key: string): Check => check(key, { kind: { type: 'sliding-window' } });
    const blocking = (key: string): Check => check(key, { block: { stepsMs: [1], forgiveAfterMs: 1 } });
    void add('', check('a'));
    void add('', sliding('b'));
    void add('', check('c'), sliding('d'));
    void add('1', sliding('e'));
    void add('', check('f'));
    void add('', blocking('g'));
    void add('1', check('h'));
    await nextTurn();
    expect(turns).toEqual([[['a', 'f'], ['b', 'c', 'g'], ['e'], ['h']]]);
    expect(sent.map(({ isMixed }) => isMixed)).toEqual([false, true, true, false]);
  });

  it('do not wait for those of the next turn', async () => {
    const { add, turns } = make();
    void add('', check('a'));
    await nextTurn();
    void add('', check('b'));
    await nextTurn();
    await nextTurn();
    expect(turns).toEqual([[['a']], [['b']]]);
  });

  it('are sent at once if they must not share a call', () => {
    const { add, turns } = make(false);
    void add('', check('a'));
    void add('', check('b'));
    expect(turns).toEqual([[['a']], [['b']]]);
  });

  it('are sent at once, and only once, when the store is closed', async () => {
    const { coalescer, add, turns } = make();
    void add('', check('a'));
    coalescer.close();
    coalescer.close();
    await nextTurn();
    expect(turns).toEqual([[['a']]]);
  });

  it('are sent under fake timers too', async () => {
    jest.useFakeTimers();
    try {
      const { add, turns } = make();
      void add('', check('a'));
      await nextTurn();
      expect(turns).toEqual([[['a']]]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('have a result or an error each', async () => {
    const { coalescer, add, sent } = make();
    const answers = Promise.allSettled([add('', check('a')), add('', check('b'))]);
    coalescer.close();
    const [first, second] = sent[0]!.requests;
    first!.resolve([result({ name: 'a' })]);
    second!.reject(new Error('b failed'));
    expect(await answers).toEqual([
      { status: 'fulfilled', value: [result({ name: 'a' })] },
      { status: 'rejected', reason: new Error('b failed') },
    ]);
  });
});
