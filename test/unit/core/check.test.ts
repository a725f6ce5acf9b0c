import fc from 'fast-check';
import { secondsToWait, toResult } from '../../../src/core/check.js';
import { check } from '../../support/check.js';

const TEN_A_MINUTE = check('k', { name: 'minute', limit: 10 });

describe('toResult', () => {
  it('describes a counter: limit 10 in 60 s, 6 used, 20 s after the window opened', () => {
    expect(toResult(TEN_A_MINUTE, true, 6, 40_000)).toEqual({
      name: 'minute',
      allowed: true,
      limit: 10,
      windowMs: 60_000,
      cost: 1,
      used: 6,
      remaining: 4,
      resetAfterMs: 40_000,
      retryAfterMs: 0,
      source: 'store',
    });
  });

  it('has the source store unless another is given', () => {
    expect(toResult(TEN_A_MINUTE, true, 6, 40_000).source).toBe('store');
    expect(toResult(TEN_A_MINUTE, true, 6, 40_000, 'memory').source).toBe('memory');
    expect(toResult(TEN_A_MINUTE, true, 0, 0, 'allow').source).toBe('allow');
  });

  it.each([
    [10, 0, 10],
    [10, 9, 1],
    [10, 10, 0],
    [10, 14, 0],
    [0, 0, 0],
    [Infinity, 5, Infinity],
    [Number.MAX_SAFE_INTEGER, 3, 9_007_199_254_740_988],
  ])('with limit %d and %d used has %d remaining', (limit, used, remaining) => {
    expect(toResult(check('k', { limit }), true, used, 1).remaining).toBe(remaining);
  });

  it.each([
    ['0 if allowed', true, 6, 40_000, 0],
    ['one millisecond more than the reset', false, 10, 40_000, 40_001],
    ['one millisecond more than a window that has just opened', false, 10, 60_000, 60_001],
    ['1 in the last millisecond of an open window', false, 10, 0, 1],
    ['the window if none is open', false, 0, 0, 60_000],
  ])('has a retryAfterMs of %s', (_, allowed, used, resetAfterMs, wait) => {
    expect(toResult(TEN_A_MINUTE, allowed, used, resetAfterMs).retryAfterMs).toBe(wait);
  });

  it('has a retryAfterMs from 1 to a millisecond more than the window if denied', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), fc.nat(), (windowMs, left) => {
        const { retryAfterMs } = toResult(check('k', { windowMs }), false, 1, left % (windowMs + 1));
        expect(retryAfterMs).toBeGreaterThanOrEqual(1);
        expect(retryAfterMs).toBeLessThanOrEqual(windowMs + 1);
      }),
    );
  });
});

describe('secondsToWait', () => {
  it.each([
    [1, 0],
    [1, 999],
    [2, 1_000],
    [59, 58_999],
    [60, 59_000],
    [60, 59_999],
    [60, 60_000],
  ])('is %d if a window of 60 s ends after %d ms', (wait, resetAfterMs) => {
    expect(secondsToWait(toResult(TEN_A_MINUTE, false, 10, resetAfterMs))).toBe(wait);
  });

  it('is longer than a window if that is not a fixed one', () => {
    const later = { ...toResult(TEN_A_MINUTE, false, 10, 60_000), retryAfterMs: 60_002 };
    expect(secondsToWait(later)).toBe(61);
    expect(secondsToWait({ ...later, resetAfterMs: 63_000, retryAfterMs: 60_001 })).toBe(61);
  });
});
