import fc from 'fast-check';
import { type Counter, CounterList } from '../../../../src/store/memory/counter-list.js';

const counter = (key: string): Counter => ({
  key,
  endsAtMs: 0,
  used: 1,
  list: undefined,
  previous: undefined,
  next: undefined,
});

function keysOf(list: CounterList): string[] {
  const keys: string[] = [];
  for (let at = list.first; at !== undefined; at = at.next) keys.push(at.key);
  return keys;
}

describe('CounterList', () => {
  it.each([
    ['first', 0, ['b', 'c']],
    ['middle', 1, ['a', 'c']],
    ['last', 2, ['a', 'b']],
  ])('lets the %s one leave', (_, index, keys) => {
    const list = new CounterList();
    const counters = ['a', 'b', 'c'].map(counter);
    counters.forEach((one) => {
      list.push(one);
    });
    list.remove(counters[index]!);
    expect(keysOf(list)).toEqual(keys);
    expect(counters[index]).toMatchObject({ list: undefined, previous: undefined, next: undefined });
  });

  it('keeps its order whoever comes and leaves', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat())), (steps) => {
        const list = new CounterList();
        const model: Counter[] = [];
        for (const [comes, number] of steps) {
          if (comes || model.length === 0) {
            const one = counter(String(number));
            model.push(one);
            list.push(one);
          } else {
            list.remove(model.splice(number % model.length, 1)[0]!);
          }
        }
        expect(keysOf(list)).toEqual(model.map(({ key }) => key));
        expect(model.every((one) => one.list === list)).toBe(true);
      }),
    );
  });
});
