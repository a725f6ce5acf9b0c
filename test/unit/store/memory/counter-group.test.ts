import fc from 'fast-check';
import { type Counter, Lane } from '../../../../src/store/memory/counter-group.js';

function keysOf({ byEnd }: Lane): string[] {
  const keys: string[] = [];
  for (let at = byEnd.first; at !== undefined; at = at.byEnd?.next) keys.push(at.key);
  return keys;
}

function laneOf(...keys: string[]): { lane: Lane; counters: Counter[] } {
  const lane = new Lane();
  const counters = keys.map((key) => counterIn(lane, key));
  for (const counter of counters) lane.add(counter);
  return { lane, counters };
}

function counterIn(lane: Lane, key: string): Counter {
  return { key, endsAtMs: 0, used: 1, lane, byEnd: undefined, below: undefined };
}

describe('Lane', () => {
  it.each([
    ['first', 0, ['b', 'c']],
    ['middle', 1, ['a', 'c']],
    ['last', 2, ['a', 'b']],
  ])('lets the %s one leave', (_, index, keys) => {
    const { lane, counters } = laneOf('a', 'b', 'c');
    lane.remove(counters[index]!);
    expect([keysOf(lane), lane.size]).toEqual([keys, 2]);
    expect(counters[index]).toMatchObject({ byEnd: undefined, below: undefined });
  });

  it('parts with the soonest to end below its limit, and with full ones only when all are', () => {
    const { lane, counters } = laneOf('a', 'b', 'c');
    const [a, b, c] = counters as [Counter, Counter, Counter];
    expect(lane.leastMissed).toBe(a);
    lane.markFull(a);
    expect(lane.leastMissed).toBe(b);
    lane.markFull(c);
    lane.markFull(c);
    expect(lane.leastMissed).toBe(b);
    lane.markFull(b);
    expect(lane.leastMissed).toBe(a);
    lane.remove(a);
    expect(lane.leastMissed).toBe(b);
    expect(laneOf().lane.leastMissed).toBeUndefined();
  });

  it('keeps its order whoever comes and leaves', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat())), (steps) => {
        const { lane } = laneOf();
        const model: Counter[] = [];
        for (const [comes, number] of steps) {
          if (comes || model.length === 0) {
            const one = counterIn(lane, String(number));
            model.push(one);
            lane.add(one);
          } else {
            lane.remove(model.splice(number % model.length, 1)[0]!);
          }
        }
        expect(keysOf(lane)).toEqual(model.map(({ key }) => key));
        expect(lane.size).toBe(model.length);
      }),
    );
  });
});
