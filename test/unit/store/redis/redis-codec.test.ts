import { decodeReply, encodeArguments } from '../../../../src/store/redis/redis-codec.js';
import { check } from '../../../support/check.js';

const TEN = check('a', { name: 'ten', limit: 10 });
const ONE_A_DAY = check('b', { name: 'day', windowMs: 86_400_000, limit: 1, cost: 2, countDenied: true });

describe('encodeArguments', () => {
  it('says whether to charge, then four numbers for each check', () => {
    const numbers = ['60000', '10', '1', '0', '86400000', '1', '2', '1'];
    expect(encodeArguments([TEN, ONE_A_DAY], true)).toEqual(['1', ...numbers]);
    expect(encodeArguments([TEN, ONE_A_DAY], false)).toEqual(['0', ...numbers]);
  });

  it.each([
    [Infinity, '-1'],
    [0, '0'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('writes the limit %d as %s', (limit, text) => {
    expect(encodeArguments([check('a', { limit })], true)[2]).toBe(text);
  });

  it('writes every number in full', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const args = encodeArguments([check('a', { limit: most, windowMs: most, cost: most })], true);
    expect(args.every((arg) => /^\d+$/.test(arg))).toBe(true);
  });
});

describe('decodeReply', () => {
  it('answers a result for each check, in order', () => {
    expect(decodeReply([TEN, ONE_A_DAY], [6, 40_000, 1, -5_001])).toEqual([
      {
        name: 'ten',
        allowed: true,
        limit: 10,
        windowMs: 60_000,
        cost: 1,
        used: 6,
        remaining: 4,
        resetAfterMs: 40_000,
        retryAfterMs: 0,
      },
      {
        name: 'day',
        allowed: false,
        limit: 1,
        windowMs: 86_400_000,
        cost: 2,
        used: 1,
        remaining: 0,
        resetAfterMs: 5_000,
        retryAfterMs: 5_001,
      },
    ]);
  });

  it.each<[string, unknown[], object]>([
    [
      'an allowed check without a window',
      [0, 0],
      { allowed: true, used: 0, resetAfterMs: 0, retryAfterMs: 0 },
    ],
    [
      'a denied one without a window',
      [0, -1],
      { allowed: false, used: 0, resetAfterMs: 0, retryAfterMs: 60_000 },
    ],
    [
      'a denied one in its last millisecond',
      [10, -1],
      { allowed: false, used: 10, resetAfterMs: 0, retryAfterMs: 1 },
    ],
    [
      'an allowed one in its last millisecond',
      [3, 0],
      { allowed: true, used: 3, resetAfterMs: 0, remaining: 7 },
    ],
  ])('reads %s', (_, reply, result) => {
    expect(decodeReply([TEN], reply)).toMatchObject([result]);
  });

  it('reads the texts of a client with stringNumbers alike', () => {
    expect(decodeReply([TEN, ONE_A_DAY], ['6', '40000', '1', '-5001'])).toEqual(
      decodeReply([TEN, ONE_A_DAY], [6, 40_000, 1, -5_001]),
    );
  });

  it('reads no checks from no numbers', () => {
    expect(decodeReply([], [])).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['nothing', null],
    ['undefined', undefined],
    ['a text', 'OK'],
    ['a number', 1],
    ['an object', { length: 2 }],
    ['an empty list', []],
    ['too short a list', [1]],
    ['too long a list', [1, 2, 3, 4]],
    ['gaps', [null, null]],
    ['texts that are no numbers', ['a', 'b']],
    ['a list in the list', [[1], [2]]],
    ['an error in the list', [1, new Error('ERR')]],
    ['fractions', [1.5, 2.5]],
  ])('refuses %s, since the script never answers so', (_, reply) => {
    expect(() => decodeReply([TEN], reply)).toThrow(TypeError);
    expect(() => decodeReply([TEN], reply)).toThrow('Redis answered what the script never does');
  });
});
