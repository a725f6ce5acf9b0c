import fc from 'fast-check';
import { Log } from '../../../../src/core/log.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';

function make(most: number): { store: MemoryStore; warnings: string[]; at: (nowMs: number) => void } {
  let nowMs = 0;
  const warnings: string[] = [];
  const log = new Log({
    log: () => undefined,
    warn: (line) => void warnings.push(line),
    error: () => undefined,
  });
  return { store: new MemoryStore(most, log, () => nowMs), warnings, at: (ms) => (nowMs = ms) };
}

describe('the bound of the memory store', () => {
  it('is kept with many keys, while the denied client stays denied', () => {
    const { store, warnings, at } = make(1_000);
    const victim = check('blocked', { limit: 1 });
    store.consume([victim]);
    let largest = 0;
    for (let i = 0; i < 200_000; i++) {
      at(Math.floor(i / 10));
      store.consume([check(`made-up-${i}`, { limit: 5 })]);
      largest = Math.max(largest, store.size);
    }
    expect(largest).toBe(1_000);
    expect(store.consume([victim])[0]!.allowed).toBe(false);
    expect(warnings).toHaveLength(1);
  });

  it('is not reached while expired counters are removed', () => {
    const { store, at } = make(100_000);
    for (let i = 0; i < 100_000; i++) {
      at(i);
      store.consume([check(`k-${i}`, { windowMs: 100, limit: 5 })]);
    }
    expect(store.size).toBeLessThanOrEqual(102);
  });

  it.each([
    ['a cost that exceeds the remaining units', { limit: 10, cost: 3 }],
    ['denied requests that count', { limit: 9, cost: 3, countDenied: true }],
  ])('keeps denying a client that is denied by %s', (_, parts) => {
    const { store } = make(10);
    const blocked = check('blocked', parts);
    for (let i = 0; i < 4; i++) store.consume([blocked]);
    for (let i = 0; i < 50; i++) store.consume([check(`junk-${i}`, { limit: 5 })]);
    expect(store.consume([blocked])[0]!.allowed).toBe(false);
  });

  it('logs one warning when counters are dropped', () => {
    const { store, warnings } = make(10);
    for (let i = 0; i < 10; i++) store.consume([check(`k-${i}`)]);
    expect(warnings).toEqual([]);
    for (let i = 10; i < 50; i++) store.consume([check(`k-${i}`)]);
    expect(warnings).toEqual([
      expect.stringMatching(/^FREQ_LIMIT_MEMORY_FULL: There are more than 10 counters in memory/),
    ]);
    expect(warnings[0]).toContain('maxCounters');
    expect(store.size).toBe(10);
  });

  it('is kept for any requests', () => {
    const anyCheck = fc
      .record({
        key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
        windowMs: fc.constantFrom(10, 25),
        limit: fc.integer({ min: 0, max: 3 }),
        cost: fc.integer({ min: 0, max: 2 }),
        countDenied: fc.boolean(),
      })
      .map(({ key, ...parts }) => check(`${key}:${parts.windowMs}`, parts));
    const request = fc.tuple(fc.array(anyCheck, { minLength: 1, maxLength: 4 }), fc.nat(8));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(request), (most, requests) => {
        const { store, at } = make(most);
        let nowMs = 0;
        for (const [checks, passed] of requests) {
          at((nowMs += passed));
          store.consume(checks);
          expect(store.size).toBeLessThanOrEqual(most);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('undoes nothing on a counter that was dropped while its own request was counted', () => {
    const { store, at } = make(2);
    const of = (key: string, limit = 5): boolean =>
      store.consume([check(key, { windowMs: 1_000, limit })])[0]!.allowed;
    of('a');
    at(500);
    of('x');
    // b needs room, and a, in the same request, is the counter that goes
    store.consume([check('a', { windowMs: 1_000, limit: 5 }), check('b', { windowMs: 1_000, limit: 5 })]);
    at(600);
    expect(of('a', 1)).toBe(true);
    at(700);
    of('c');
    // the end of the first window of a
    at(1_100);
    of('d');
    expect(of('a', 1)).toBe(false);
  });
});
