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
