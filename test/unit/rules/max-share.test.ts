import type { CounterKind } from '../../../src/core/counter-kind.js';
import {
  MAX_SHARE,
  type ShareCheck,
  unitsOfShare,
  withinShare,
  withShares,
} from '../../../src/rules/max-share.js';
import { check } from '../../support/check.js';
import { result } from '../fixtures.js';

const FIXED: CounterKind = { type: 'fixed-window' };
const BUCKET: CounterKind = { type: 'token-bucket', burst: 20 };

const shareCheck = (parts: Partial<ShareCheck>): ShareCheck => ({
  ...check('key', { limit: 10, kind: FIXED, ...parts }),
  aboveShare: undefined,
});

it.each([
  [10, 0.5, 5],
  [10, 1, 10],
  [10, 0.39, 3],
  [10, 0.01, 1],
  [0, 0.5, 1],
  [100, 0.29, 29],
  [1_000, 0.007, 7],
  [3, 1 / 3, 1],
  [Infinity, 0.5, Infinity],
])('of %d units, a share of %d is %d', (units, share, most) => {
  expect(unitsOfShare(units, share)).toBe(most);
});

it('each share in percent of 100 units is that many units', () => {
  for (let percent = 1; percent <= 100; percent++) expect(unitsOfShare(100, percent / 100)).toBe(percent);
});

it.each([
  [0.5, true],
  [1, true],
  [Number.MIN_VALUE, true],
  [0, false],
  [-0.5, false],
  [1.1, false],
  [NaN, false],
  ['0.5', false],
])('%p is a share: %p', (share, answer) => {
  expect(MAX_SHARE.test(share)).toBe(answer);
});

describe('a check', () => {
  it.each<[string, Partial<ShareCheck>, number]>([
    ['within its share', { cost: 5 }, 0.5],
    ['of a cost of 1', { cost: 1 }, 0.01],
    ['of a cost of 0', { cost: 0 }, 0.01],
    ['of a limit of 0, which denies it anyway', { cost: 5, limit: 0 }, 0.5],
    ['without a limit', { cost: 5, limit: Infinity }, 0.5],
    ['within the share of its burst', { cost: 10, kind: BUCKET }, 0.5],
  ])('%s stays as it is', (_, parts, share) => {
    const one = shareCheck(parts);
    expect(withinShare(one, share)).toBe(one);
  });

  it('without maxShare stays as it is', () => {
    const one = shareCheck({ cost: 99 });
    expect(withinShare(one, undefined)).toBe(one);
  });

  it('above its share gets a limit below its cost, and is not counted when denied', () => {
    const one = withinShare(shareCheck({ cost: 6, countDenied: true }), 0.5);
    expect(one).toMatchObject({ limit: 5, countDenied: false, aboveShare: { limit: 10, kind: FIXED } });
  });

  it('above the share of its burst gets a smaller bucket, which refills as before, and has no block', () => {
    const block = { stepsMs: [1_000], forgiveAfterMs: 1_000 };
    const one = withinShare(shareCheck({ cost: 11, kind: BUCKET, block }), 0.5);
    expect(one).toMatchObject({ limit: 10, block: undefined, kind: { type: 'token-bucket', burst: 10 } });
    expect(one.aboveShare).toEqual({ limit: 10, kind: BUCKET });
  });
});

describe('the results', () => {
  const above = (parts: Partial<ShareCheck>): ShareCheck => withinShare(shareCheck(parts), 0.5);
  const denied = { allowed: false, cost: 6, retryAfterMs: 8_000 };

  it('are the same list if no check is above its share', () => {
    const results = [result()];
    expect(withShares([shareCheck({})], results)).toBe(results);
  });

  it('have the limit of the rule, what remains of it, and the reason', () => {
    const seen = withShares(
      [above({ cost: 6 }), above({ cost: 1 })],
      [result({ ...denied, limit: 5, used: 3, remaining: 2 }), result({ used: 3 })],
    );
    expect(seen).toEqual([
      result({ ...denied, limit: 10, used: 3, remaining: 7, aboveMaxShare: true }),
      result({ used: 3 }),
    ]);
  });

  it('of a blocked client show the whole limit as used', () => {
    const blocked = result({ ...denied, limit: 5, used: 5, remaining: 0, blocked: true });
    expect(withShares([above({ cost: 6 })], [blocked])).toEqual([
      { ...blocked, limit: 10, used: 10, remaining: 0, aboveMaxShare: true },
    ]);
  });

  it('have the burst of the rule', () => {
    const small = result({ ...denied, limit: 10, burst: 10, used: 3, remaining: 7 });
    expect(withShares([above({ cost: 11, kind: BUCKET })], [small])).toEqual([
      { ...small, burst: 20, remaining: 17, aboveMaxShare: true },
    ]);
  });

  it('of a store that cannot answer stay allowed', () => {
    const open = result({ allowed: true, source: 'allow' });
    const [seen] = withShares([above({ cost: 6 })], [open]);
    expect([seen?.allowed, seen?.aboveMaxShare]).toEqual([true, undefined]);
  });
});
