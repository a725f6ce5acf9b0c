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
    ['counters', many(64, false), false],
    ['checks', many(256, true), false],
    ['cost', [check('k', { cost: Number.MAX_SAFE_INTEGER })], false],
    ['none of these', many(47, false), true],
  ])('has a maximum of %s', (_, first, fits) => {
    expect(batchOf(first).batch.fits([a])).toBe(fits);
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

  it('fails all of its requests with the same error', () => {
    const { batch, answers } = batchOf([a], [b]);
    const error = new Error('down');
    batch.fail(error);
    expect(answers).toEqual([{ error }, { error }]);
  });
});
