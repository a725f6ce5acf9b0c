import type { Check } from '../../../../src/core/check.js';
import { Batch } from '../../../../src/store/redis/batch.js';
import { check } from '../../../support/check.js';
import { batchOf } from './batch.fixtures.js';

const [a, b, c] = ['a', 'b', 'c'].map((key) => check(key, { limit: 5 })) as [Check, Check, Check];

describe('Batch.fits', () => {
  const many = (count: number, hasOneKey: boolean): Check[] =>
    Array.from({ length: count }, (_, i) => check(hasOneKey ? 'k' : `k${i}`, { limit: 5 }));

  it('accepts a first request of any size', () => {
    expect(new Batch().fits(many(1_000, false))).toBe(true);
  });

  it.each([
    ['counters', many(128, false), false],
    ['checks', many(256, true), false],
    ['cost', [check('k', { cost: Number.MAX_SAFE_INTEGER })], false],
    ['none of these', many(47, false), true],
  ])('has a maximum of %s', (_, first, fits) => {
    expect(batchOf(first).batch.fits([a])).toBe(fits);
  });
});

describe('Batch.fits, for all kinds of counters,', () => {
  const sliding = check('s', { kind: { type: 'sliding-window' } });
  const bucket = check('b', { kind: { type: 'token-bucket', burst: 5 }, limit: 5 });
  const block = { stepsMs: [1_000], forgiveAfterMs: 1 };

  it.each<[string, Check, boolean]>([
    ['accepts the same counter with another limit', { ...sliding, limit: 9 }, true],
    ['accepts a new counter with a block', check('new', { block }), true],
    ['does not accept a counter with another block', { ...sliding, block }, false],
    ['accepts a bucket with another burst', { ...bucket, kind: { type: 'token-bucket', burst: 9 } }, true],
    ['does not accept a bucket with another refill', { ...bucket, limit: 9 }, false],
  ])('%s', (_, one, fits) => {
    const { batch } = batchOf([sliding, bucket]);
    expect(batch.fits([a, one])).toBe(fits);
  });
});

describe('a batch', () => {
  it('is divisible if it has several counters', () => {
    expect(batchOf([a], [a, a]).batch.isDivisible).toBe(false);
    expect(batchOf([a], [b]).batch.isDivisible).toBe(true);
    expect(new Batch().isDivisible).toBe(false);
  });

  it('has the key of one of its counters, and its requests in order', () => {
    const { batch } = batchOf([b], [a, c]);
    expect(batch.someKey).toBe('b');
    expect(batch.size).toBe(2);
    expect(batch.requests.map(({ checks }) => checks)).toEqual([[b], [a, c]]);
    expect(new Batch().someKey).toBe('');
  });

  it('is for all kinds of counters if its requests are', () => {
    const sliding = check('s', { kind: { type: 'sliding-window' } });
    const shadow = check('f', { shadow: true });
    const blocking = check('b', { block: { stepsMs: [1], forgiveAfterMs: 1 } });
    const isMixed = (...checks: Check[]): boolean => batchOf(checks).batch.isMixed;
    expect([isMixed(a), isMixed(a, shadow), isMixed(sliding), isMixed(a, blocking)]).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it('has each counter once, with the lowest limit or burst and the sum of the costs', () => {
    const bucket = (burst: number, cost: number): Check =>
      check('b', { kind: { type: 'token-bucket', burst }, limit: 100, cost });
    const { batch } = batchOf([bucket(8, 1), a], [bucket(6, 2)], [bucket(9, 0)]);
    expect(batch.counters).toMatchObject([
      { key: 'b', limit: 6, cost: 3 },
      { key: 'a', limit: 5, cost: 1 },
    ]);
  });

  it('has two counters for two windows of a length', () => {
    const [minute, hour] = [60_000, 3_600_000].map((windowMs) => check('k', { windowMs, group: 'same' }));
    expect(batchOf([minute!], [hour!]).batch.counters).toHaveLength(2);
  });

  it('fails all of its requests with the same error', () => {
    const { batch, answers } = batchOf([a], [b]);
    const error = new Error('down');
    batch.fail(error);
    expect(answers).toEqual([{ error }, { error }]);
  });
});
