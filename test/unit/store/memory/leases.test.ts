import type { Check, CheckResult } from '../../../../src/core/check.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';

const LIFE_MS = 15_000;

function make(maxCounters: number) {
  let nowMs = 1_000_000;
  const store = new MemoryStore(maxCounters, quiet, () => nowMs);
  return {
    store,
    one: (one: Check): CheckResult => store.consume([one])[0]!,
    advance: (ms: number) => void (nowMs += ms),
  };
}

let serial = 0;
const lease = (key: string, parts: Partial<Check> = {}): Check =>
  check(key, {
    group: 'leases',
    kind: { type: 'concurrency' },
    windowMs: LIFE_MS,
    lease: `lease-${++serial}`,
    ...parts,
  });

describe('leases in memory', () => {
  it('are kept when other counters need the room, even if their group is the largest', () => {
    const { store, one } = make(10);
    for (let i = 0; i < 9; i++) one(lease(`held-${i}`));
    for (let i = 0; i < 50; i++) one(check(`rate-${i}`, { group: 'rates', limit: 5 }));
    expect(store.size).toBe(10);
    for (let i = 0; i < 9; i++) expect(one(lease(`held-${i}`))).toMatchObject({ allowed: false, used: 1 });
  });

  it('are dropped if there is nothing else, so that the bound is kept', () => {
    const { store, one } = make(10);
    for (let i = 0; i < 30; i++) expect(one(lease(`held-${i}`))).toMatchObject({ allowed: true });
    expect(store.size).toBe(10);
  });

  it('need no room after they are released or have lapsed', () => {
    const { store, one, advance } = make(100);
    const [mine, other] = [lease('a'), lease('b')];
    const result = one(mine);
    one(other);
    store.settle([mine], [result], [1]);
    expect(store.size).toBe(1);
    advance(LIFE_MS + 1);
    store.peek([other]);
    expect(store.size).toBe(0);
  });

  it('are not counted for a check of the same name in another group', () => {
    const { one } = make(100);
    one(lease('a'));
    expect(one(lease('a', { group: 'other' }))).toMatchObject({ allowed: true, used: 1 });
  });

  it('cannot be taken by a check without an id', () => {
    const { one } = make(100);
    expect(() => one(lease('a', { lease: undefined }))).toThrow('has no lease');
  });

  it('lapse one by one, in the order in which they were taken or renewed', () => {
    const { store, one, advance } = make(100);
    const all = [0, 1, 2].map(() => lease('a', { limit: 5 }));
    for (const each of all) {
      one(each);
      advance(1_000);
    }
    store.renew([all[0]!]);
    const used = (): number => store.peek([lease('a', { limit: 5 })])[0]!.used;
    advance(LIFE_MS - 2_000);
    expect(used()).toBe(3);
    advance(1);
    expect(used()).toBe(2);
    advance(1_000);
    expect(used()).toBe(1);
    advance(1_000);
    expect(used()).toBe(0);
  });
});
