import fc from 'fast-check';
import type { CheckResult, Source } from '../../../src/core/check.js';
import { toVerdict, UNLIMITED } from '../../../src/core/verdict.js';
import { result } from '../fixtures.js';

const denied = { allowed: false, remaining: 0 };

describe('toVerdict', () => {
  it('allows when every check allows, and keeps the order of the results', () => {
    const results = [result({ name: 'a' }), result({ name: 'b' })];
    const verdict = toVerdict(results);
    expect(verdict.allowed).toBe(true);
    expect(verdict.source).toBe('store');
    expect(verdict.results.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('denies when one check denies', () => {
    expect(toVerdict([result(), result(denied), result()]).allowed).toBe(false);
  });

  it.each([
    ['the denied one before one with less left', [{ remaining: 0 }, { ...denied, retryAfterMs: 1 }], 1],
    [
      'of the denied ones the longest wait',
      [
        { ...denied, retryAfterMs: 5 },
        { ...denied, retryAfterMs: 9 },
      ],
      1,
    ],
    ['a denied one wherever it stands', [{ ...denied, retryAfterMs: 1 }, { remaining: 0 }], 0],
    ['of the allowed ones the least remaining', [{ remaining: 3 }, { remaining: 1 }, { remaining: 2 }], 1],
    ['of equal ones the longest reset', [{ resetAfterMs: 1 }, { resetAfterMs: 3 }, { resetAfterMs: 2 }], 1],
    ['of two that are the same the first', [{}, {}], 0],
    ['a limit before none', [{ limit: Infinity, remaining: Infinity }, { remaining: 1_000 }], 1],
  ])('calls tightest %s', (_, parts, index) => {
    const results = parts.map((part) => result(part));
    expect(toVerdict(results).tightest).toBe(results[index]);
  });

  it.each<[string, Source[], Source]>([
    ['the store alone', ['store', 'store'], 'store'],
    ['one that stood in', ['store', 'memory', 'store'], 'memory'],
    ['one that stood in first', ['memory', 'store'], 'memory'],
    ['all that stood in', ['memory', 'memory'], 'memory'],
    ['an open one', ['store', 'allow', 'store'], 'allow'],
    ['an open one before one that stood in', ['allow', 'memory'], 'allow'],
    ['an open one after one that stood in', ['memory', 'allow', 'store'], 'allow'],
    ['open ones alone', ['allow', 'allow'], 'allow'],
    ['the store and one without a counter', ['none', 'store', 'none'], 'store'],
  ])('names as the source of %s what counts least', (_, sources, source) => {
    expect(toVerdict(sources.map((one) => result({ source: one }))).source).toBe(source);
  });

  const open = { source: 'allow', used: 0, remaining: 0, resetAfterMs: 0 } as const;

  it.each<[string, Partial<CheckResult>[], number]>([
    ['the only one that is not open', [open, { remaining: 9 }, open], 1],
    ['one that is not open and comes first', [{ remaining: 9 }, open], 0],
    ['one without a limit before an open one', [open, { limit: Infinity, remaining: Infinity }], 1],
    ['one with a counter before one without', [{ source: 'none', remaining: 0 }, { remaining: 9 }], 1],
    [
      'the one that denies by its counter before one that would too',
      [
        { ...denied, source: 'none', retryAfterMs: 9 },
        { ...denied, retryAfterMs: 1 },
      ],
      1,
    ],
    ['of those that are not open the tightest', [open, { remaining: 3 }, { remaining: 2 }, open], 2],
    ['a denial of what stood in', [{ remaining: 0 }, open, { ...denied, source: 'memory' }], 2],
    [
      'of denials the longest wait, whoever denies',
      [
        { ...denied, retryAfterMs: 5 },
        { ...denied, retryAfterMs: 9, source: 'memory' },
      ],
      1,
    ],
    ['what stood in where it has less left', [{ remaining: 3 }, { remaining: 2, source: 'memory' }], 1],
    ['the first where all are open', [open, open], 0],
  ])('calls tightest, never an open one where there is another: %s', (_, parts, index) => {
    const results = parts.map((part) => result(part));
    expect(toVerdict(results).tightest).toBe(results[index]);
  });

  it('calls tightest one that is not open, and denies as any does, in any order', () => {
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
  it('is a pass that nobody was asked for, and cannot be changed', () => {
    expect(UNLIMITED).toEqual({ allowed: true, results: [], tightest: undefined, source: 'none' });
    expect(Object.isFrozen(UNLIMITED)).toBe(true);
    expect(Object.isFrozen(UNLIMITED.results)).toBe(true);
  });
});
