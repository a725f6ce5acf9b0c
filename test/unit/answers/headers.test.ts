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

/** The names and parameters of a header's items, as an independent parser reads them. */
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

  it('follow each list of rules and each limit, whatever came before', () => {
    const larger = { ...MINUTE, limit: 7 };
    const policyOf = (...results: CheckResult[]): string | undefined => headers(results)['RateLimit-Policy'];
    const [minute, day] = ['"minute";q=5;w=60', '"day";q=100;w=86400'];
    for (let time = 0; time < 2; time++) {
      expect(policyOf(MINUTE, DAY)).toBe(`${minute}, ${day}`);
      expect(policyOf(MINUTE)).toBe(minute);
      expect(policyOf(DAY, MINUTE)).toBe(`${day}, ${minute}`);
      expect(policyOf(larger, DAY)).toBe(`"minute";q=7;w=60, ${day}`);
    }
  });

  it('have a unit and no window for a rule with concurrency', () => {
    const slots = { name: 'slots', limit: 5, used: 2, remaining: 3, resetAfterMs: 1_000, windowMs: 15_000 };
    const headersOfSlots = headers([result({ ...slots, concurrency: true }), DAY]);
    expect(headersOfSlots).toEqual({
      'RateLimit-Policy': '"slots";q=5;qu="concurrent-requests", "day";q=100;w=86400',
      RateLimit: '"slots";a=3, "day";a=60;w=3600',
    });
    expect(items(headersOfSlots['RateLimit-Policy'])[0]).toEqual([
      'slots',
      { q: 5, qu: 'concurrent-requests' },
    ]);
    // a rule of the same name that counts in windows, perhaps of another application
    expect(headers([result(slots)])['RateLimit-Policy']).toBe('"slots";q=5;w=15');
    expect(headers([result({ ...slots, concurrency: true })], 'draft-11')['RateLimit']).toBe('"slots";r=3');
  });

  it('can be read by an independent parser of structured fields', () => {
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

  it('use r and t and have no cost in the previous draft', () => {
    expect(headers([MINUTE, { ...DAY, cost: 4 }], 'draft-11')).toEqual({
      'RateLimit-Policy': '"minute";q=5;w=60, "day";q=100;w=86400',
      RateLimit: '"minute";r=3;t=40, "day";r=60;t=3600',
    });
  });

  it('omit rules without a limit', () => {
    const endless = result({ name: 'endless', limit: 5, burst: Infinity, remaining: Infinity });
    expect(headers([NO_LIMIT, MINUTE, endless])).toEqual(headers([MINUTE]));
    for (const one of [NO_LIMIT, endless]) expect(headers([one], 'both')).toEqual({});
  });

  it.each([
    [600, 300, 60_000, '"bucket";q=600;w=120'],
    [10, 60, 60_000, '"bucket";q=10;w=10'],
    [1, 7, 60_000, '"bucket";q=1;w=9'],
    [1, 50, 1_000, '"bucket";q=1;w=1'],
    [0, 5, 60_000, '"bucket";q=0;w=1'],
    [0, 0, 60_000, '"bucket";q=0;w=60'],
    [Number.MAX_SAFE_INTEGER, 1, 60_000, '"bucket";q=999999999999999;w=999999999999999'],
  ])('have the burst of a token bucket, and the time until it is full: %s, limit %s', (...parts) => {
    const [burst, limit, windowMs, policy] = parts;
    const full = { name: 'bucket', limit, burst, windowMs, used: 0, remaining: burst, resetAfterMs: 0 };
    expect(headers([result(full)])['RateLimit-Policy']).toBe(policy);
    expect(headers([result({ ...full, limit: 9, burst: 9 })])['RateLimit-Policy']).not.toBe(policy);
    expect(headers([result(full)], 'draft-11')['RateLimit-Policy']).toBe(policy);
    expect(headers([result(full)], 'legacy')['X-RateLimit-Limit']).toBe(String(burst));
  });

  it('never have more available in a bucket than its quota, nor more time until it is full', () => {
    const bucket = { name: 'b', limit: 300, burst: 600, windowMs: 60_000 };
    const empty = result({ ...bucket, used: 600, remaining: 0, resetAfterMs: 120_000 });
    expect(headers([empty])).toEqual({ 'RateLimit-Policy': '"b";q=600;w=120', RateLimit: '"b";a=0;w=120' });
    const used = result({ ...bucket, used: 1, remaining: 599, resetAfterMs: 200, cost: 1 });
    expect(headers([used])).toEqual({ 'RateLimit-Policy': '"b";q=600;w=120', RateLimit: '"b";a=599;w=1' });
  });

  it('have no reset if no window is open', () => {
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

  it('have no integer of more than 15 digits', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const { 'RateLimit-Policy': policy, RateLimit: limit } = headers([
      result({ limit: most, remaining: most - 3 }),
    ]);
    expect(items(policy)[0]![1]).toMatchObject({ q: 999_999_999_999_999 });
    expect(items(limit)[0]![1]).toMatchObject({ a: 999_999_999_999_999 });
  });

  it('can be parsed for any numbers and names', () => {
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

  it('are absent without a limit', () => {
    expect(headers([NO_LIMIT], 'legacy')).toEqual({});
  });
});

describe('the other options', () => {
  it("send the draft and legacy headers with 'both'", () => {
    expect(headers([MINUTE, DAY], 'both')).toEqual({
      ...headers([MINUTE, DAY]),
      ...headers([MINUTE, DAY], 'legacy'),
    });
  });

  it("send the newest draft with 'draft'", () => {
    expect(headers([MINUTE, DAY], 'draft')).toEqual(headers([MINUTE, DAY], 'draft-12'));
  });

  it("send nothing with 'none', not even Retry-After", () => {
    expect(headers([MINUTE], 'none')).toEqual({});
    expect(headers([result({ allowed: false, retryAfterMs: 8_000 })], 'none')).toEqual({});
  });

  it.each(OPTIONS)('send nothing with %s if there are no results', (option) => {
    expect(headers([], option)).toEqual({});
  });

  it.each(OPTIONS)('send only strings with %s', (option) => {
    const all = [MINUTE, DAY, result({ allowed: false, remaining: 0, retryAfterMs: 8_000 })];
    expect(Object.values(headers(all, option)).filter((value) => typeof value !== 'string')).toEqual([]);
  });
});

describe('a result that is not from the store', () => {
  const fromMemory = result({ ...MINUTE, source: 'memory' });
  const uncounted = result({ ...DAY, name: 'uncounted', source: 'allow' });

  it.each(OPTIONS)('has no headers with %s', (option) => {
    expect(headers([fromMemory], option)).toEqual({});
    expect(headers([uncounted], option)).toEqual({});
    expect(headers([uncounted, fromMemory], option)).toEqual({});
  });

  it.each(['draft', 'draft-12', 'draft-11'] as const)(
    'is omitted next to results of the store (%s)',
    (option) => {
      expect(headers([fromMemory, DAY, uncounted], option)).toEqual(headers([DAY], option));
    },
  );

  it("has no headers with 'legacy' if it is the tightest", () => {
    expect(headers([DAY, fromMemory], 'legacy')).toEqual({});
    expect(headers([result({ ...fromMemory, remaining: 90 }), DAY], 'legacy')).toEqual(
      headers([DAY], 'legacy'),
    );
    expect(headers([uncounted, DAY], 'legacy')).toEqual(headers([DAY], 'legacy'));
  });

  it.each(['draft', 'draft-12', 'draft-11', 'legacy', 'both'] as const)(
    'has Retry-After if it denies (%s)',
    (option) => {
      const denial = result({ ...fromMemory, allowed: false, remaining: 0, retryAfterMs: 7_001 });
      expect(headers([denial], option)).toEqual({ 'Retry-After': '8' });
      expect(headers([uncounted, denial], option)).toEqual({ 'Retry-After': '8' });
    },
  );

  it("has no Retry-After with 'none'", () => {
    expect(headers([result({ ...fromMemory, allowed: false, retryAfterMs: 7_001 })], 'none')).toEqual({});
  });
});

describe('Retry-After', () => {
  const denied = (retryAfterMs: number): CheckResult =>
    result({ allowed: false, remaining: 0, retryAfterMs });

  it.each(['draft', 'draft-12', 'draft-11', 'legacy', 'both'] as const)(
    'is sent with a denial only (%s)',
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

  it('is the longest wait of the rules that deny', () => {
    expect(headers([denied(10_000), MINUTE, denied(3_600_000), denied(20_000)])['Retry-After']).toBe('3600');
  });
});
