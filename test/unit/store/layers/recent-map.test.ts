import { RecentMap } from '../../../../src/store/layers/recent-map.js';

describe('RecentMap', () => {
  it('keeps an entry for its maximum age at least, and for twice as long at most', () => {
    const map = new RecentMap<number>(100);
    map.set('a', 1, 0);
    map.set('b', 2, 100);
    map.set('c', 3, 101);
    expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([1, 2, 3]);
    map.set('d', 4, 202);
    expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([undefined, undefined, 3, 4]);
  });

  it('keeps the newest entries, at most twice the maximum', () => {
    const map = new RecentMap<number>(Infinity, 10);
    for (let i = 0; i < 95; i++) map.set(`k${i}`, i, 0);
    expect(map.size).toBe(15);
    expect(map.get('k94')).toBe(94);
    expect(map.get('k80')).toBe(80);
    expect(map.get('k79')).toBeUndefined();
  });

  it('returns the newest value, and deletes one or all', () => {
    const map = new RecentMap<number>(Infinity, 1);
    map.set('a', 1, 0);
    map.set('a', 2, 0);
    expect(map.get('a')).toBe(2);
    map.delete('a');
    expect(map.get('a')).toBeUndefined();
    map.set('b', 1, 0);
    map.set('c', 1, 0);
    map.clear();
    expect(map.size).toBe(0);
  });
});
