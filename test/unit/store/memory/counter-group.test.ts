import fc from 'fast-check';
import { type Counter, CounterGroup } from '../../../../src/store/memory/counter-group.js';

function keysOf({ byEnd }: CounterGroup): string[] {
  const keys: string[] = [];
  for (let at = byEnd.first; at !== undefined; at = at.byEnd?.next) keys.push(at.key);
  return keys;
}

function laneOf(...keys: string[]): { group: CounterGroup; counters: Counter[] } {
  const group = new CounterGroup();
  const counters = keys.map((key) => counterIn(group, key));
  for (const counter of counters) group.add(counter);
  return { group, counters };
}

function counterIn(group: CounterGroup, key: string): Counter {
  return { key, endsAtMs: 0, used: 1, group, byEnd: undefined, below: undefined };
}

describe('CounterGroup', () => {
  it.each([
    ['first', 0, ['b', 'c']],
    ['middle', 1, ['a', 'c']],
    ['last', 2, ['a', 'b']],
  ])('lets the %s one leave', (_, index, keys) => {
    const { group, counters } = laneOf('a', 'b', 'c');
    group.remove(counters[index]!);
    expect([keysOf(group), group.size]).toEqual([keys, 2]);
    expect(counters[index]).toMatchObject({ byEnd: undefined, below: undefined });
  });

  it('parts with the soonest to end below its limit, and with full ones only when all are', () => {
    const { group, counters } = laneOf('a', 'b', 'c');
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
    expect(laneOf().group.evictionCandidate).toBeUndefined();
  });

  it('keeps its order whoever comes and leaves', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat())), (steps) => {
        const { group } = laneOf();
        const model: Counter[] = [];
        for (const [comes, number] of steps) {
          if (comes || model.length === 0) {
            const one = counterIn(group, String(number));
            model.push(one);
            group.add(one);
          } else {
            group.remove(model.splice(number % model.length, 1)[0]!);
          }
        }
        expect(keysOf(group)).toEqual(model.map(({ key }) => key));
        expect(group.size).toBe(model.length);
      }),
    );
  });
});
