import { unpackArray } from '../../src/store/redis/message-pack.js';
import { pack } from '../support/message-pack.js';
import { redisSuite } from '../support/redis-suite.js';

const MAX = Number.MAX_SAFE_INTEGER;
const NUMBERS = [
  ...[0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32],
  ...[2 ** 52 - 1, 2 ** 52, 2 ** 52 + 1, MAX - 1, MAX],
  ...[-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 32), -MAX],
];
const STRINGS = [
  ...['', 'a', 'ERR é €'],
  ...[31, 32, 255, 256, 65_535, 65_536].map((length) => 'x'.repeat(length)),
];

describe('cmsgpack.pack of the server', () => {
  const suite = redisSuite();

  it.each<[string, string, readonly (string | number)[], (number | string)[]]>([
    ['numbers', `{ ${NUMBERS.join(', ')} }`, [], NUMBERS],
    ['numbers that were strings', `{ tonumber(ARGV[1]), tonumber(ARGV[2]) }`, [MAX, -MAX], [MAX, -MAX]],
    [
      'the result of a computation',
      `{ -ARGV[1] - 1, ARGV[1] * 1000, 0 * -1 }`,
      [5_000],
      [-5_001, 5_000_000, 0],
    ],
    ['strings', 'ARGV', STRINGS, STRINGS],
    ['numbers and strings', `{ 1, 'WRONGTYPE no', 0, 5, -9001 }`, [], [1, 'WRONGTYPE no', 0, 5, -9_001]],
    ...[0, 1, 15, 16, 65_535, 65_536].map((length): [string, string, string[], number[]] => [
      `an array of ${length}`,
      `(function() local t = {} for i = 1, ${length} do t[i] = i end return t end)()`,
      [],
      Array.from({ length }, (_, i) => i + 1),
    ]),
  ])('makes bytes of %s that are read as they were', async (_, lua, args, values) => {
    const reply = await suite.client.callBuffer('EVAL', `return cmsgpack.pack(${lua})`, 0, ...args);
    expect(unpackArray(reply)).toEqual(values);
    // the replies in other tests are like this
    expect(pack(values).equals(reply as Buffer)).toBe(true);
  });
});
