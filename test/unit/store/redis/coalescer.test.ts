import { jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Check, CheckResult } from '../../../../src/core/check.js';
import { Coalescer } from '../../../../src/store/redis/coalescer.js';
import type { Batch } from '../../../../src/store/redis/redis-codec.js';
import { check } from '../../../support/check.js';
import { result } from '../../fixtures.js';

/** Notes what is sent: for each turn its calls, for each call its requests' first keys. */
function make(coalesce = true) {
  const turns: string[][][] = [];
  const sent: Batch[] = [];
  const coalescer = new Coalescer((batches) => {
    turns.push(batches.map((batch) => batch.requests.map(({ checks }) => checks[0]!.key)));
    sent.push(...batches);
  }, coalesce);
  const ask = (tag: string, ...checks: Check[]): Promise<CheckResult[]> =>
    coalescer.ask(tag, { checks, charging: true, onEnds: undefined });
  return { coalescer, ask, turns, sent };
}

describe('requests of one turn', () => {
  it('leave together at its end, in the order they came', async () => {
    const { ask, turns } = make();
    for (const key of ['a', 'b', 'a']) void ask('', check(key));
    await Promise.resolve();
    expect(turns).toEqual([]);
    await nextTurn();
    expect(turns).toEqual([[['a', 'b', 'a']]]);
  });

  it('leave in one call for each hash tag, all at once', async () => {
    const { ask, turns } = make();
    for (const [tag, key] of [
      ['1', 'a'],
      ['2', 'b'],
      ['1', 'c'],
      ['', 'd'],
    ] as const)
      void ask(tag, check(key));
    await nextTurn();
    expect(turns).toEqual([[['a', 'c'], ['b'], ['d']]]);
  });

  it('leave in several calls where one is full, and the order is kept', async () => {
    const { ask, turns } = make();
    const wide = (name: string): Check[] => Array.from({ length: 40 }, (_, i) => check(`${name}${i}`));
    void ask('1', ...wide('a'));
    void ask('1', ...wide('b'));
    void ask('2', check('c'));
    void ask('1', check('d'));
    await nextTurn();
    expect(turns).toEqual([[['a0'], ['b0', 'd'], ['c']]]);
  });

  it('do not wait for those of the next turn', async () => {
    const { ask, turns } = make();
    void ask('', check('a'));
    await nextTurn();
    void ask('', check('b'));
    await nextTurn();
    await nextTurn();
    expect(turns).toEqual([[['a']], [['b']]]);
  });

  it('leave at once where they must not share a call', () => {
    const { ask, turns } = make(false);
    void ask('', check('a'));
    void ask('', check('b'));
    expect(turns).toEqual([[['a']], [['b']]]);
  });

  it('leave at once when the store is closed, and are not sent again', async () => {
    const { coalescer, ask, turns } = make();
    void ask('', check('a'));
    coalescer.flush();
    coalescer.flush();
    await nextTurn();
    expect(turns).toEqual([[['a']]]);
  });

  it('leave under fake timers too', async () => {
    jest.useFakeTimers();
    try {
      const { ask, turns } = make();
      void ask('', check('a'));
      await nextTurn();
      expect(turns).toEqual([[['a']]]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('are answered each on its own', async () => {
    const { coalescer, ask, sent } = make();
    const answers = Promise.allSettled([ask('', check('a')), ask('', check('b'))]);
    coalescer.flush();
    const [first, second] = sent[0]!.requests;
    first!.resolve([result({ name: 'a' })]);
    second!.reject(new Error('b failed'));
    expect(await answers).toEqual([
      { status: 'fulfilled', value: [result({ name: 'a' })] },
      { status: 'rejected', reason: new Error('b failed') },
    ]);
  });
});
