import { BoundedMap } from '../../../src/core/bounded-map.js';

describe('BoundedMap', () => {
  it('returns the added values', () => {
    const map = new BoundedMap<string, number>(2);
    expect(map.add('a', 1)).toBe(1);
    expect(map.get('a')).toBe(1);
    expect(map.get('b')).toBeUndefined();
  });

  it('removes the oldest entry if it is full', () => {
    const map = new BoundedMap<string, number>(2);
    for (const [i, key] of ['a', 'b', 'c', 'd'].entries()) map.add(key, i);
    expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([undefined, undefined, 2, 3]);
  });
});
