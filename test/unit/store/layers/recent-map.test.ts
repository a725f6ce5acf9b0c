import { RecentMap } from '../../../../src/store/layers/recent-map.js';
import { check } from '../../../support/check.js';

describe('RecentMap', () => {
  it('keeps an entry for its maximum age at least, and for twice as long at most', () => {
    const map = new RecentMap<number>(100);
    map.set(check('a'), 1, 0);
    map.set(check('b'), 2, 100);
    map.set(check('c'), 3, 101);
    expect(['a', 'b', 'c'].map((key) => map.get(check(key)))).toEqual([1, 2, 3]);
    map.set(check('d'), 4, 202);
    expect(['a', 'b', 'c', 'd'].map((key) => map.get(check(key)))).toEqual([undefined, undefined, 3, 4]);
  });

  it('keeps the newest entries, at most twice the maximum', () => {
    const map = new RecentMap<number>(Infinity, 10);
    for (let i = 0; i < 95; i++) map.set(check(`k${i}`), i, 0);
    expect(map.size).toBe(15);
    expect(map.get(check('k94'))).toBe(94);
    expect(map.get(check('k80'))).toBe(80);
    expect(map.get(check('k79'))).toBeUndefined();
  });

  it('returns the newest value, and deletes one or all', () => {
    const map = new RecentMap<number>(Infinity, 1);
    map.set(check('a'), 1, 0);
    map.set(check('a'), 2, 0);
    expect(map.get(check('a'))).toBe(2);
    map.delete(check('a'));
    expect(map.get(check('a'))).toBeUndefined();
    map.set(check('b'), 1, 0);
    map.set(check('c'), 1, 0);
    map.clear();
    expect(map.size).toBe(0);
  });

  it('distinguishes counters by group and text', () => {
    const map = new RecentMap<number>(Infinity);
    map.set(check('a', { group: 'x' }), 1, 0);
    map.set(check('a', { group: 'y' }), 2, 0);
    map.delete(check('b', { group: 'x' }));
    map.delete(check('a', { group: 'x' }));
    expect(['x', 'y', 'z'].map((group) => map.get(check('a', { group })))).toEqual([undefined, 2, undefined]);
    expect(map.size).toBe(1);
  });
});
