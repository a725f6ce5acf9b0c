import fc from 'fast-check';
import { type Counter, CounterGroup } from '../../../../src/store/memory/counter-group.js';

function keysOf({ byExpiry }: CounterGroup): string[] {
  const keys: string[] = [];
  for (let at = byExpiry.first; at !== undefined; at = at.byExpiry?.next) keys.push(at.text);
  return keys;
}

function groupOf(...keys: string[]): { group: CounterGroup; counters: Counter[] } {
  const group = new CounterGroup();
  const counters = keys.map((key) => counterIn(group, key));
  for (const counter of counters) group.add(counter);
  return { group, counters };
}

function counterIn(group: CounterGroup, text: string): Counter {
  return { text, endsAtMs: 0, used: 1, mixed: undefined, group, byExpiry: undefined, underLimit: undefined };
}

describe('CounterGroup', () => {
  it.each([
    ['first', 0, ['b', 'c']],
    ['middle', 1, ['a', 'c']],
    ['last', 2, ['a', 'b']],
  ])('removes the %s one', (_, index, keys) => {
    const { group, counters } = groupOf('a', 'b', 'c');
    group.remove(counters[index]!);
    expect([keysOf(group), group.size]).toEqual([keys, 2]);
    expect(counters[index]).toMatchObject({ byExpiry: undefined, underLimit: undefined });
  });

  it('evicts the next to expire under its limit, and one at its limit only if all are', () => {
    const { group, counters } = groupOf('a', 'b', 'c');
    const [a, b, c] = counters as [Counter, Counter, Counter];
    expect(group.evictionCandidate).toBe(a);
    group.markAtLimit(a);
    expect(group.evictionCandidate).toBe(b);
    group.markAtLimit(c);
    group.markAtLimit(c);
    expect(group.evictionCandidate).toBe(b);
    group.markAtLimit(b);
    expect(group.evictionCandidate).toBe(a);
    group.remove(a);
    expect(group.evictionCandidate).toBe(b);
    expect(groupOf().group.evictionCandidate).toBeUndefined();
  });

  it('keeps its order, whatever is added and removed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat())), (steps) => {
        const { group } = groupOf();
        const model: Counter[] = [];
        for (const [index, [adds, number]] of steps.entries()) {
          if (adds || model.length === 0) {
            const one = counterIn(group, String(index));
            model.push(one);
            group.add(one);
          } else {
            group.remove(model.splice(number % model.length, 1)[0]!);
          }
        }
        expect(keysOf(group)).toEqual(model.map(({ text }) => text));
        expect(group.size).toBe(model.length);
      }),
    );
  });
});
