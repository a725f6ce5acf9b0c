import { type Check, type CheckResult, toMeasuredResult, toResult } from '../../../../src/core/check.js';
import type { Block, CalendarPeriod } from '../../../../src/core/counter-kind.js';
import { CachedCounts, isBlockedAt, isDenied } from '../../../../src/store/layers/cached-counts.js';
import { check } from '../../../support/check.js';

const BLOCK: Block = { stepsMs: [600_000], forgiveAfterMs: 1 };
const PERIOD: CalendarPeriod = { type: 'calendar', startsAtMs: 0, endsAtMs: 60_000, nextEndsAtMs: 120_000 };
const plain = check('f', { limit: 5 });
const calendar = check('c', { kind: PERIOD, limit: 5 });
const sliding = check('s', { kind: { type: 'sliding-window' }, limit: 5 });
const bucket = check('b', { kind: { type: 'token-bucket', burst: 8 }, limit: 5 });

interface Denial {
  readonly used: number;
  readonly resetAfterMs: number;
  readonly retryAfterMs: number;
  readonly isBlocked?: boolean;
}

function resultOf(check: Check, { isBlocked = false, ...denial }: Denial): CheckResult {
  return check.kind.type === 'fixed-window' && !isBlocked
    ? toResult(check, denial.retryAfterMs === 0, denial.used, denial.resetAfterMs)
    : toMeasuredResult(check, { ...denial, isBlocked });
}

/** Caches a denial that was sent at 0, and tells whether a check is denied at a time. */
function cached(checks: readonly Check[], denials: readonly Denial[]) {
  const counts = new CachedCounts();
  counts.add(
    checks,
    checks.map((one, i) => resultOf(one, denials[i]!)),
    0,
  );
  return (check: Check, nowMs = 1): boolean | undefined => {
    const count = counts.get(check, nowMs);
    return count && isDenied(count, check, nowMs);
  };
}

const FULL = { used: 5, resetAfterMs: 9_000, retryAfterMs: 9_000 };

describe('a cached denial', () => {
  it.each([
    ['fixed window', plain],
    ['calendar', calendar],
  ])('of a %s applies to what the count exceeds, with any limit', (_, one) => {
    const denies = cached([one], [FULL]);
    expect(denies(one)).toBe(true);
    expect(denies({ ...one, cost: 0 })).toBe(false);
    expect(denies({ ...one, limit: 6 })).toBe(false);
    expect(denies({ ...one, limit: 6, cost: 2 })).toBe(true);
    expect(denies({ ...one, limit: Infinity })).toBe(false);
  });

  it.each([
    ['sliding window', sliding],
    ['bucket', bucket],
  ])('of a %s applies to this cost or a higher one, and this limit or a lower one', (_, one) => {
    const costly = { ...one, cost: 2 };
    const denies = cached([costly], [{ used: 4, resetAfterMs: 9_000, retryAfterMs: 300 }]);
    expect(denies(costly)).toBe(true);
    expect(denies({ ...one, cost: 3 })).toBe(true);
    expect(denies({ ...one, cost: 1 })).toBe(false);
    expect(denies({ ...costly, limit: 4 })).toBe(true);
    expect(denies({ ...costly, limit: 6 })).toBe(false);
    expect(denies(costly, 299)).toBe(true);
    expect(denies(costly, 300)).toBe(false);
  });

  it('of a bucket applies to this burst or a lower one', () => {
    const denies = cached([bucket], [{ used: 8, resetAfterMs: 9_000, retryAfterMs: 300 }]);
    const withBurst = (burst: number): Check => ({ ...bucket, kind: { type: 'token-bucket', burst } });
    expect([7, 8, 9, Infinity].map((burst) => denies(withBurst(burst)))).toEqual([true, true, false, false]);
  });

  it('of several checks on one sliding window is of their costs together', () => {
    const denies = cached(
      [sliding, { ...sliding, cost: 2 }],
      [
        { used: 3, resetAfterMs: 9_000, retryAfterMs: 0 },
        { used: 3, resetAfterMs: 9_000, retryAfterMs: 300 },
      ],
    );
    expect([1, 2, 3].map((cost) => denies({ ...sliding, cost }))).toEqual([false, false, true]);
  });

  it('says nothing about a check that did not deny, except for its count', () => {
    const denies = cached(
      [sliding, calendar, plain],
      [
        { used: 5, resetAfterMs: 9_000, retryAfterMs: 0 },
        { used: 5, resetAfterMs: 9_000, retryAfterMs: 0 },
        { used: 5, resetAfterMs: 9_000, retryAfterMs: 0 },
      ],
    );
    expect([sliding, calendar, plain].map((one) => denies(one))).toEqual([false, true, true]);
  });

  it('of a calendar that counts nothing applies to this cost and limit only', () => {
    const shut = { ...calendar, limit: 0 };
    const denies = cached([shut], [{ used: 0, resetAfterMs: 0, retryAfterMs: 9_000 }]);
    expect([denies(shut), denies(calendar), denies({ ...shut, cost: 0 })]).toEqual([true, false, false]);
  });

  it.each([
    ['fixed window', plain],
    ['calendar', calendar],
    ['sliding window', sliding],
    ['bucket', bucket],
  ])('of a blocked %s applies to every check with a limit, until the block ends', (_, one) => {
    const blocked = { ...one, block: BLOCK };
    const block = { used: 5, resetAfterMs: 500, retryAfterMs: 500, isBlocked: true };
    const counts = new CachedCounts();
    counts.add([blocked], [resultOf(blocked, block)], 0);
    const denies = cached([blocked], [block]);
    expect(denies(blocked, 499)).toBe(true);
    expect(denies({ ...blocked, cost: 0 })).toBe(true);
    expect(denies({ ...blocked, limit: 1_000 })).toBe(true);
    expect(isBlockedAt(counts.get(one, 499)!, 499)).toBe(true);
    expect(denies(blocked, 500)).toBeUndefined();
    const unlimited: Check =
      one.kind.type === 'token-bucket'
        ? { ...blocked, kind: { ...one.kind, burst: Infinity } }
        : { ...blocked, limit: Infinity };
    expect(denies(unlimited)).toBe(false);
  });

  it('is kept for a second at most', () => {
    for (const one of [plain, calendar, sliding, bucket]) {
      const denies = cached([one], [FULL]);
      expect([denies(one, 999), denies(one, 1_000)]).toEqual([true, undefined]);
    }
  });
});

describe('CachedCounts', () => {
  it('forgets the counters of some checks, or all', () => {
    const counts = new CachedCounts();
    counts.add(
      [plain, sliding, bucket],
      [plain, sliding, bucket].map((one) => resultOf(one, FULL)),
      0,
    );
    counts.forget([sliding]);
    expect([plain, sliding, bucket].map((one) => counts.get(one, 1) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    counts.clear();
    expect([plain, bucket].map((one) => counts.get(one, 1))).toEqual([undefined, undefined]);
    expect(counts.size).toBe(0);
  });
});
