import fc from 'fast-check';
import { parseList } from 'structured-headers';
import type { CheckResult } from '../../../src/core/check.js';
import { toVerdict } from '../../../src/core/verdict.js';
import { headersFor, type HeadersOption, retryAfterSeconds } from '../../../src/answers/headers.js';
import { result } from '../fixtures.js';

const OPTIONS: HeadersOption[] = ['draft', 'draft-12', 'draft-11', 'legacy', 'both', 'none'];
const MINUTE = result({ name: 'minute', limit: 5, used: 2, remaining: 3, resetAfterMs: 40_000 });
const DAY = result({
  name: 'day',
  limit: 100,
  windowMs: 86_400_000,
  used: 40,
  remaining: 60,
  resetAfterMs: 3_600_000,
});
const NO_LIMIT = result({ name: 'seen', limit: Infinity, remaining: Infinity });

function headers(results: CheckResult[], option: HeadersOption = 'draft'): Record<string, string> {
  return Object.fromEntries(headersFor(toVerdict(results), option));
}

/** A header as an independent parser reads it: the items' names and parameters. */
function items(value: string | undefined): (readonly [unknown, Record<string, unknown>])[] {
  return parseList(value ?? '').map(([name, parameters]) => [name, Object.fromEntries(parameters)]);
}

describe("the headers of 'draft'", () => {
  it('have an item for each rule, in order', () => {
    expect(headers([MINUTE, DAY])).toEqual({
      'RateLimit-Policy': '"minute";q=5;w=60, "day";q=100;w=86400',
      RateLimit: '"minute";a=3;w=40, "day";a=60;w=3600',
    });
  });

  it('are what an independent parser of structured fields understands', () => {
    const { 'RateLimit-Policy': policy, RateLimit: limit } = headers([MINUTE, { ...DAY, cost: 4 }]);
    expect(items(policy)).toEqual([
      ['minute', { q: 5, w: 60 }],
      ['day', { q: 100, w: 86_400 }],
    ]);
    expect(items(limit)).toEqual([
      ['minute', { a: 3, w: 40 }],
      ['day', { a: 60, w: 3_600, c: 4 }],
    ]);
  });

  it("call what is available and its time 'r' and 't' in the draft before, and tell no cost", () => {
    expect(headers([MINUTE, { ...DAY, cost: 4 }], 'draft-11')).toEqual({
      'RateLimit-Policy': '"minute";q=5;w=60, "day";q=100;w=86400',
      RateLimit: '"minute";r=3;t=40, "day";r=60;t=3600',
    });
  });

  it('leave out rules without a limit', () => {
    expect(headers([NO_LIMIT, MINUTE])).toEqual(headers([MINUTE]));
    expect(headers([NO_LIMIT])).toEqual({});
  });

  it('tell no reset where no window is open', () => {
    expect(headers([result({ used: 0, remaining: 10, resetAfterMs: 0 })])['RateLimit']).toBe('"minute";a=10');
  });

  it.each([
    [1, 1],
    [999, 1],
    [1_000, 1],
    [1_001, 2],
    [59_999, 60],
  ])('round %d ms up to %d s', (ms, s) => {
    const { 'RateLimit-Policy': policy, RateLimit: limit } = headers([
      result({ windowMs: ms, resetAfterMs: ms }),
    ]);
    expect(items(policy)[0]![1]).toMatchObject({ w: s });
    expect(items(limit)[0]![1]).toMatchObject({ w: s });
  });

  it('hold no integer of more than 15 digits', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const { 'RateLimit-Policy': policy, RateLimit: limit } = headers([
      result({ limit: most, remaining: most - 3 }),
    ]);
    expect(items(policy)[0]![1]).toMatchObject({ q: 999_999_999_999_999 });
    expect(items(limit)[0]![1]).toMatchObject({ a: 999_999_999_999_999 });
  });

  it('can be parsed whatever the numbers and names are', () => {
    const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/);
    const numbers = fc.record({ name, limit: count, windowMs: count, remaining: count, resetAfterMs: count });
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 6 }), (all) => {
        const { 'RateLimit-Policy': policy, RateLimit: limit } = headers(all.map((one) => result(one)));
        expect(items(policy).map(([item]) => item)).toEqual(all.map((one) => one.name));
        expect(items(limit).map(([item]) => item)).toEqual(all.map((one) => one.name));
      }),
    );
  });
});

describe("the headers of 'legacy'", () => {
  it('are of the tightest rule', () => {
    expect(headers([DAY, MINUTE, NO_LIMIT], 'legacy')).toEqual({
      'X-RateLimit-Limit': '5',
      'X-RateLimit-Remaining': '3',
      'X-RateLimit-Reset': '40',
    });
  });

  it('are none without a limit', () => {
    expect(headers([NO_LIMIT], 'legacy')).toEqual({});
  });
});

describe('the other options', () => {
  it("send with 'both' the draft and legacy", () => {
    expect(headers([MINUTE, DAY], 'both')).toEqual({
      ...headers([MINUTE, DAY]),
      ...headers([MINUTE, DAY], 'legacy'),
    });
  });

  it("send with 'draft' the newest one", () => {
    expect(headers([MINUTE, DAY], 'draft')).toEqual(headers([MINUTE, DAY], 'draft-12'));
  });

  it("send with 'none' nothing, a denial's wait included", () => {
    expect(headers([MINUTE], 'none')).toEqual({});
    expect(headers([result({ allowed: false, retryAfterMs: 8_000 })], 'none')).toEqual({});
  });

  it.each(OPTIONS)('send with %s nothing where nobody was asked', (option) => {
    expect(headers([], option)).toEqual({});
  });

  it.each(OPTIONS)('send with %s only texts', (option) => {
    const all = [MINUTE, DAY, result({ allowed: false, remaining: 0, retryAfterMs: 8_000 })];
    expect(Object.values(headers(all, option)).filter((value) => typeof value !== 'string')).toEqual([]);
  });
});

describe('what the store itself has not answered', () => {
  const standIn = result({ ...MINUTE, source: 'memory' });
  const open = result({ ...DAY, name: 'open', source: 'allow' });

  it.each(OPTIONS)('has no headers with %s', (option) => {
    expect(headers([standIn], option)).toEqual({});
    expect(headers([open], option)).toEqual({});
    expect(headers([open, standIn], option)).toEqual({});
  });

  it.each(['draft', 'draft-12', 'draft-11'] as const)(
    'is left out beside what the store has (%s)',
    (option) => {
      expect(headers([standIn, DAY, open], option)).toEqual(headers([DAY], option));
    },
  );

  it("has none with 'legacy' where it is the tightest", () => {
    expect(headers([DAY, standIn], 'legacy')).toEqual({});
    expect(headers([result({ ...standIn, remaining: 90 }), DAY], 'legacy')).toEqual(headers([DAY], 'legacy'));
    expect(headers([open, DAY], 'legacy')).toEqual(headers([DAY], 'legacy'));
  });

  it.each(['draft', 'draft-12', 'draft-11', 'legacy', 'both'] as const)(
    'has a wait all the same when it denies (%s)',
    (option) => {
      const denial = result({ ...standIn, allowed: false, remaining: 0, retryAfterMs: 7_001 });
      expect(headers([denial], option)).toEqual({ 'Retry-After': '8' });
      expect(headers([open, denial], option)).toEqual({ 'Retry-After': '8' });
    },
  );

  it("has no wait with 'none'", () => {
    expect(headers([result({ ...standIn, allowed: false, retryAfterMs: 7_001 })], 'none')).toEqual({});
  });
});

describe('Retry-After', () => {
  const denied = (retryAfterMs: number): CheckResult =>
    result({ allowed: false, remaining: 0, retryAfterMs });

  it.each(['draft', 'draft-12', 'draft-11', 'legacy', 'both'] as const)(
    'comes with a denial, and not with a pass (%s)',
    (option) => {
      expect(headers([denied(8_000)], option)['Retry-After']).toBe('8');
      expect(headers([MINUTE], option)).not.toHaveProperty('Retry-After');
    },
  );

  it.each([
    [7_600, 8],
    [8_000, 8],
    [8_001, 9],
    [1, 1],
    [0, 1],
    [60_000, 60],
    [31_536_000_000, 31_536_000],
  ])('for %d ms is %d s', (ms, s) => {
    expect(headers([denied(ms)])['Retry-After']).toBe(String(s));
    expect(retryAfterSeconds(toVerdict([denied(ms)]))).toBe(s);
  });

  it('is the longest wait of the denying rules', () => {
    expect(headers([denied(10_000), MINUTE, denied(3_600_000), denied(20_000)])['Retry-After']).toBe('3600');
  });
});
