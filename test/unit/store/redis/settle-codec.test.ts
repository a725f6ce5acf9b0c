import { type Check, toResult } from '../../../../src/core/check.js';
import { encodeSettlements, readSettlements } from '../../../../src/store/redis/settle-codec.js';
import { check } from '../../../support/check.js';
import { pack } from '../../../support/message-pack.js';

const [a, b] = ['a', 'b'].map((key) => check(key, { limit: 5 })) as [Check, Check];
const CHARGES = [
  { check: a, result: toResult(a, true, 3, 9_000), token: 1_700_000_009_000, cost: 0 },
  {
    check: { ...b, cost: 4, windowMs: 86_400_000 },
    result: toResult(b, true, 4, 1),
    token: 1_700_000_000_001,
    cost: 9,
  },
];

describe('encodeSettlements', () => {
  it('has three numbers for each counter', () => {
    expect(encodeSettlements(CHARGES)).toEqual({
      keys: ['a', 'b'],
      args: ['60000', '1700000009000', '-1', '86400000', '1700000000001', '5'],
    });
    expect(encodeSettlements([])).toEqual({ keys: [], args: [] });
  });
});

describe('readSettlements', () => {
  it('returns what is used now, and keeps what was decided', () => {
    expect(readSettlements(CHARGES, pack([2, 8_999, 0, 0]))).toMatchObject([
      { name: 'a', allowed: true, used: 2, remaining: 3, resetAfterMs: 8_999, source: 'store' },
      { name: 'b', allowed: true, used: 0, remaining: 5, resetAfterMs: 0, source: 'store' },
    ]);
    const denied = { check: a, result: toResult(a, false, 5, 9_000), token: 1, cost: 0 };
    expect(readSettlements([denied], pack([5, 9_000]))).toMatchObject([
      { allowed: false, retryAfterMs: 9_001 },
    ]);
    expect(readSettlements([], pack([]))).toEqual([]);
  });

  it.each([
    ['null', null],
    ['a string', 'OK'],
    ['an array that is not packed', [2, 8_999, 0, 0]],
    ['too few values', pack([2, 8_999, 0])],
    ['too many values', pack([2, 8_999, 0, 0, 0, 0])],
    ['strings', pack(['a', 'b', 'c', 'd'])],
    ['numbers as strings', pack(['2', 8_999, 0, 0])],
    ['fractions', pack([1.5, 1, 1, 1])],
  ])('throws for %s, which the script never returns', (_, reply) => {
    expect(() => readSettlements(CHARGES, reply)).toThrow('it is not a reply of the script');
  });
});
