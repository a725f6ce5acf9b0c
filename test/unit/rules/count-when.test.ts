import { COUNT_WHEN, toShouldCount } from '../../../src/rules/count-when.js';
import type { Outcome } from '../../../src/rules/rule.js';
import { CONTEXT } from '../fixtures.js';

const ended = (succeeded: boolean): Outcome => ({
  succeeded,
  statusCode: succeeded ? 200 : 401,
  error: undefined,
  result: undefined,
  context: CONTEXT,
});

describe('countWhen', () => {
  it('is undefined if every request counts', () => {
    expect([toShouldCount(), toShouldCount('request')]).toEqual([undefined, undefined]);
  });

  it.each([
    ['success', true, false],
    ['failure', false, true],
  ] as const)('%s counts a request that succeeded: %j, and one that failed: %j', (countWhen, good, bad) => {
    const counts = toShouldCount(countWhen)!;
    expect([counts(ended(true)), counts(ended(false))]).toEqual([good, bad]);
  });

  it('is the function itself if it is a function', () => {
    const countWhen = ({ statusCode }: Outcome): boolean => statusCode === 401;
    expect(toShouldCount(countWhen)).toBe(countWhen);
  });

  it.each<[unknown, boolean]>([
    ['request', true],
    ['success', true],
    ['failure', true],
    [() => true, true],
    ['failed', false],
    [true, false],
    [null, false],
  ])('may be %p: %j', (value, fits) => {
    expect(COUNT_WHEN.test(value)).toBe(fits);
  });
});
