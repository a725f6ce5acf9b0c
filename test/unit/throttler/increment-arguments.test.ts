import { readIncrementArguments, readKey } from '../../../src/throttler/increment-arguments.js';

const MOST = Number.MAX_SAFE_INTEGER;

describe('the arguments of increment', () => {
  it.each<[string, [unknown, unknown, unknown], [number, number | undefined, number | undefined]]>([
    ['whole numbers as they are', [60_000, 10, 5_000], [60_000, 10, 5_000]],
    ['parts of a millisecond rounded up', [0.2, 10, 99.5], [1, 10, 100]],
    ['parts of a limit rounded down', [1, 2.9, 1], [1, 2, 1]],
    ['a limit below 0 as 0', [1, -3, 1], [1, 0, 1]],
    ['an infinite limit as none', [1, Infinity, 1], [1, undefined, 1]],
    ['no block with 0', [1, 1, 0], [1, 1, undefined]],
    ['no block below 0', [1, 1, -5], [1, 1, undefined]],
    ['numbers in strings as numbers, like the throttler', ['60000', '10', ' 5e3 '], [60_000, 10, 5_000]],
    ['the largest numbers', [MOST, MOST, MOST], [MOST, MOST, MOST]],
  ])('are read: %s', (_, [ttl, limit, blockDuration], [windowMs, allowed, blockMs]) => {
    expect(readIncrementArguments(ttl, limit, blockDuration)).toEqual({ windowMs, limit: allowed, blockMs });
  });

  it.each<[string, [unknown, unknown, unknown], RegExp]>([
    ['a ttl of NaN', [NaN, 1, 1], /ttl: NaN is not a number of milliseconds above 0/],
    ['a ttl of 0', [0, 1, 1], /ttl: 0 is not/],
    ['a ttl below 0', [-1, 1, 1], /ttl: -1 is not/],
    ['an infinite ttl', [Infinity, 1, 1], /ttl: Infinity is not/],
    ['a string without a number as ttl', ['1m', 1, 1], /ttl: "1m" is not a number of milliseconds above 0/],
    ['an empty string as limit', [1, ' ', 1], /limit: " " is not a number/],
    ['no ttl', [undefined, 1, 1], /ttl: is missing/],
    ['a limit of NaN', [1, NaN, 1], /limit: NaN is not a number/],
    ['no limit', [1, undefined, 1], /limit: is missing/],
    ['a block of NaN', [1, 1, NaN], /blockDuration: NaN is not a number/],
    ['an infinite block', [1, 1, Infinity], /blockDuration: Infinity is not a number of milliseconds/],
    ['no block', [1, 1, undefined], /blockDuration: is missing/],
  ])('are rejected: %s', (_, [ttl, limit, blockDuration], message) => {
    const error = expect.objectContaining({
      code: 'FREQ_LIMIT_INVALID_CHECK',
      message: expect.stringMatching(message),
    });
    expect(() => readIncrementArguments(ttl, limit, blockDuration)).toThrow(error as Error);
  });

  it('have a name and a key, which are strings', () => {
    expect(readKey('default', 'ann')).toEqual(['default', 'ann']);
    expect(() => readKey('', 'ann')).toThrow(/throttlerName: "" is not a string of at least one character/);
    expect(() => readKey('default', '')).toThrow(/key: "" is not a string of at least one character/);
    expect(() => readKey('default', undefined)).toThrow(/key: is missing/);
  });
});
