import fc from 'fast-check';
import type { CheckResult, Source } from '../../../src/core/check.js';
import { toVerdict, UNLIMITED } from '../../../src/core/verdict.js';
import { result } from '../fixtures.js';

const denied = { allowed: false, remaining: 0 };

describe('toVerdict', () => {
  it('allows if every check allows, and keeps the order of the results', () => {
    const results = [result({ name: 'a' }), result({ name: 'b' })];
    const verdict = toVerdict(results);
    expect(verdict.allowed).toBe(true);
    expect(verdict.source).toBe('store');
    expect(verdict.results.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('denies if one check denies', () => {
    expect(toVerdict([result(), result(denied), result()]).allowed).toBe(false);
  });

  it.each([
    ['a denied one before one with less remaining', [{ remaining: 0 }, { ...denied, retryAfterMs: 1 }], 1],
    [
      'the denied one with the longest wait',
      [
        { ...denied, retryAfterMs: 5 },
        { ...denied, retryAfterMs: 9 },
      ],
      1,
    ],
    ['a denied one in any position', [{ ...denied, retryAfterMs: 1 }, { remaining: 0 }], 0],
    ['the allowed one with the least remaining', [{ remaining: 3 }, { remaining: 1 }, { remaining: 2 }], 1],
    [
      'of equal ones the one with the longest reset',
      [{ resetAfterMs: 1 }, { resetAfterMs: 3 }, { resetAfterMs: 2 }],
      1,
    ],
    ['the first of two equal ones', [{}, {}], 0],
    [
      'one with a limit before one without',
      [{ limit: Infinity, remaining: Infinity }, { remaining: 1_000 }],
      1,
    ],
  ])('picks as tightest %s', (_, parts, index) => {
    const results = parts.map((part) => result(part));
    expect(toVerdict(results).tightest).toBe(results[index]);
  });

  it.each<[string, Source[], Source]>([
    ['the store alone', ['store', 'store'], 'store'],
    ['one from memory', ['store', 'memory', 'store'], 'memory'],
    ['one from memory first', ['memory', 'store'], 'memory'],
    ['memory alone', ['memory', 'memory'], 'memory'],
    ['one that allows uncounted', ['store', 'allow', 'store'], 'allow'],
    ['allow before memory', ['allow', 'memory'], 'allow'],
    ['allow after memory', ['memory', 'allow', 'store'], 'allow'],
    ['allow alone', ['allow', 'allow'], 'allow'],
    ['the store and one without a counter', ['none', 'store', 'none'], 'store'],
  ])('has the right source for %s', (_, sources, source) => {
    expect(toVerdict(sources.map((one) => result({ source: one }))).source).toBe(source);
  });

  const uncounted = { source: 'allow', used: 0, remaining: 0, resetAfterMs: 0 } as const;

  it.each<[string, Partial<CheckResult>[], number]>([
    ['the only one with a counter', [uncounted, { remaining: 9 }, uncounted], 1],
    ['one with a counter that comes first', [{ remaining: 9 }, uncounted], 0],
    [
      'one without a limit before one without a counter',
      [uncounted, { limit: Infinity, remaining: Infinity }],
      1,
    ],
    ['one with a counter before one without', [{ source: 'none', remaining: 0 }, { remaining: 9 }], 1],
    [
      'a denial with a counter before one without',
      [
        { ...denied, source: 'none', retryAfterMs: 9 },
        { ...denied, retryAfterMs: 1 },
      ],
      1,
    ],
    ['the tightest of those with a counter', [uncounted, { remaining: 3 }, { remaining: 2 }, uncounted], 2],
    ['a denial from memory', [{ remaining: 0 }, uncounted, { ...denied, source: 'memory' }], 2],
    [
      'the denial with the longest wait, from any source',
      [
        { ...denied, retryAfterMs: 5 },
        { ...denied, retryAfterMs: 9, source: 'memory' },
      ],
      1,
    ],
    ['memory if it has less remaining', [{ remaining: 3 }, { remaining: 2, source: 'memory' }], 1],
    ['the first if none has a counter', [uncounted, uncounted], 0],
  ])('picks as tightest one with a counter if there is one: %s', (_, parts, index) => {
    const results = parts.map((part) => result(part));
    expect(toVerdict(results).tightest).toBe(results[index]);
  });

  it('picks one with a counter and denies if any denies, in any order', () => {
    const anyResult = fc.record({
      source: fc.constantFrom<Source>('store', 'memory', 'allow'),
      isAllowed: fc.boolean(),
      remaining: fc.nat({ max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(anyResult, { minLength: 1, maxLength: 6 }), (all) => {
        const results = all.map(({ source, isAllowed, remaining }) =>
          result({ source, remaining, allowed: source === 'allow' || isAllowed }),
        );
        const verdict = toVerdict(results);
        expect(verdict.allowed).toBe(results.every(({ allowed }) => allowed));
        expect(verdict.tightest!.source === 'allow').toBe(results.every(({ source }) => source === 'allow'));
        expect(toVerdict([...results].reverse())).toMatchObject({
          allowed: verdict.allowed,
          source: verdict.source,
        });
      }),
    );
  });

  it('has no tightest result without results', () => {
    expect(toVerdict([])).toEqual({ allowed: true, results: [], tightest: undefined, source: 'store' });
  });
});

describe('UNLIMITED', () => {
  it('allows without results, and is frozen', () => {
    expect(UNLIMITED).toEqual({ allowed: true, results: [], tightest: undefined, source: 'none' });
    expect(Object.isFrozen(UNLIMITED)).toBe(true);
    expect(Object.isFrozen(UNLIMITED.results)).toBe(true);
  });
});
