import type { Check, CheckResult } from '../../../../src/core/check.js';
import type { Block, CalendarPeriod } from '../../../../src/core/counter-kind.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';
import { refundAll } from '../../../support/refund-all.js';

const SLIDING = { type: 'sliding-window' } as const;
const BUCKET = { type: 'token-bucket', burst: 5 } as const;
const BLOCK: Block = { stepsMs: [60_000], forgiveAfterMs: 1 };
const LADDER: Block = { stepsMs: [10_000, 20_000], forgiveAfterMs: 30_000 };
const NOW = 1_760_000_000_000;

/** A memory store whose two clocks the test sets. */
function make(maxCounters = 1_000) {
  const clock = { nowMs: 1_000_000, ofDayMs: NOW };
  const store = new MemoryStore(
    maxCounters,
    quiet,
    () => clock.nowMs,
    'store',
    () => clock.ofDayMs,
  );
  const one = (one: Check): CheckResult => store.consume([one], true)[0]!;
  const advance = (ms: number): void => {
    clock.nowMs += ms;
    clock.ofDayMs += ms;
  };
  return { store, clock, one, advance };
}

const sliding = (key: string, parts: Partial<Check> = {}): Check =>
  check(key, { kind: SLIDING, group: 'sliding', windowMs: 1_600, limit: 2, ...parts });
const bucket = (key: string, parts: Partial<Check> = {}): Check =>
  check(key, { kind: BUCKET, group: 'bucket', windowMs: 1_000, limit: 5, ...parts });

describe('the number of counters in memory', () => {
  it('has none for a request that charges nothing', () => {
    const { store } = make();
    store.consume([sliding('a', { cost: 0 }), bucket('b', { cost: 6 })]);
    store.consume([sliding('a'), check('shut', { limit: 0 })]);
    store.peek([sliding('a'), bucket('b')]);
    expect(store.size).toBe(0);
  });

  it('falls again when a counter is as new, and another one is opened', () => {
    const { store, one, advance } = make();
    for (let i = 0; i < 20; i++) {
      one(sliding(`s${i}`));
      one(bucket(`b${i}`));
    }
    expect(store.size).toBe(40);
    advance(1_800);
    for (let i = 0; i < 60; i++) one(check(`new${i}`, { limit: 5 }));
    expect(store.size).toBe(60);
  });

  it('falls at once when everything is refunded or reset', () => {
    const { store } = make();
    const checks = [sliding('a'), bucket('b')];
    refundAll(store, checks, store.consume(checks, true));
    expect(store.size).toBe(0);
    for (let i = 0; i < 3; i++) store.consume([sliding('a', { block: LADDER })]);
    store.reset([sliding('a')]);
    expect(store.size).toBe(0);
  });

  it('includes a counter that remembers how often it was blocked', () => {
    const { store, one, advance } = make();
    const offend = (): number => {
      for (let i = 0; i < 2; i++) one(sliding('a', { block: LADDER }));
      return one(sliding('a', { block: LADDER })).retryAfterMs;
    };
    expect(offend()).toBe(10_000);
    advance(10_000 + 30_000);
    for (let i = 0; i < 9; i++) one(check(`other${i}`, { limit: 5, windowMs: 1_000 }));
    expect(offend()).toBe(20_000);
    advance(20_000 + 30_001);
    for (let i = 0; i < 9; i++) one(check(`another${i}`, { limit: 5, windowMs: 1_000 }));
    expect(store.size).toBe(9);
    expect(offend()).toBe(10_000);
  });

  it.each([
    ['a sliding window that is full', sliding('victim', { windowMs: 60_000, limit: 1 })],
    ['a bucket that is empty', bucket('victim', { windowMs: 600_000, kind: { ...BUCKET, burst: 1 } })],
    ['a block', sliding('victim', { block: BLOCK, limit: 1 })],
  ])('is bounded, and keeps %s', (_, victim) => {
    const { store, one, advance } = make(50);
    for (let i = 0; i < 2; i++) one(victim);
    for (let i = 0; i < 2_000; i++) {
      one({ ...victim, key: `made-up-${i}`, text: `made-up-${i}`, limit: 9, kind: withRoom(victim) });
      if (i % 100 === 0) advance(1);
    }
    expect(store.size).toBe(50);
    expect(one(victim)).toMatchObject({ allowed: false });
  });
});

function withRoom({ kind }: Check): Check['kind'] {
  return kind.type === 'token-bucket' ? { ...kind, burst: 9 } : kind;
}

describe('a fixed window in memory', () => {
  const fixed = (parts: Partial<Check> = {}): Check => check('f', { limit: 2, ...parts });

  it('is the same counter in requests with and without other kinds', () => {
    const { store, one, advance } = make();
    expect(one(fixed()).used).toBe(1);
    advance(5_000);
    expect(store.consume([fixed(), sliding('s')])[0]).toMatchObject({ used: 2, resetAfterMs: 55_000 });
    advance(5_000);
    expect(one(fixed())).toMatchObject({ allowed: false, used: 2, resetAfterMs: 50_000 });
    expect(store.consume([sliding('s'), fixed()])[1]).toMatchObject({ allowed: false, resetAfterMs: 50_000 });
    advance(50_001);
    expect(one(fixed())).toMatchObject({ allowed: true, used: 1, resetAfterMs: 60_000 });
  });

  it('is refunded in both ways, each charge once', () => {
    const { store } = make();
    const alone = store.consume([fixed({ limit: 9 })], true);
    const mixed = store.consume([fixed({ limit: 9, cost: 3 }), sliding('s')], true);
    expect(refundAll(store, [fixed({ cost: 3 }), sliding('s')], mixed).map(({ used }) => used)).toEqual([
      1, 0,
    ]);
    expect(refundAll(store, [fixed()], alone)[0]).toMatchObject({ used: 0, resetAfterMs: 0 });
    for (const results of [alone, mixed.slice(0, 1)]) refundAll(store, [fixed()], results);
    expect(store.size).toBe(0);
  });

  it('that another rule has blocked is not unblocked by a refund', () => {
    const { store, one } = make();
    const charged = store.consume([fixed({ cost: 2 })], true);
    expect(one(fixed({ block: BLOCK }))).toMatchObject({ blocked: true });
    refundAll(store, [fixed({ cost: 2 })], charged);
    expect(one(fixed({ block: BLOCK }))).toMatchObject({ blocked: true });
    expect(one(fixed())).toMatchObject({ allowed: false });
  });
});

describe('several refunds of one counter in memory', () => {
  it('have the result after the last', () => {
    const { store } = make();
    const checks = [sliding('a', { limit: 9 }), sliding('a', { limit: 9 })];
    store.consume([sliding('a', { limit: 9 })]);
    const refunded = refundAll(store, checks, store.consume(checks, true));
    expect(refunded.map(({ used }) => used)).toEqual([1, 1]);
  });
});

describe('a calendar in memory', () => {
  const DAY: CalendarPeriod = {
    type: 'calendar',
    startsAtMs: NOW - 1_000,
    endsAtMs: NOW + 60_000,
    nextEndsAtMs: NOW + 120_000,
  };
  const NEXT: CalendarPeriod = {
    type: 'calendar',
    startsAtMs: NOW + 60_000,
    endsAtMs: NOW + 120_000,
    nextEndsAtMs: NOW + 180_000,
  };
  const calendar = (kind = DAY): Check => check('c', { kind, group: 'day', limit: 1, windowMs: 60_000 });

  it('ends at its boundary by the time of day', () => {
    const { one, clock } = make();
    expect(one(calendar())).toMatchObject({ allowed: true, resetAfterMs: 60_000 });
    expect(one(calendar())).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    // the system's clock is set forward, and the monotonic clock is not
    clock.ofDayMs += 59_999;
    expect(one(calendar())).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.ofDayMs += 1;
    expect(one(calendar(NEXT))).toMatchObject({ allowed: true, used: 1, resetAfterMs: 60_000 });
  });

  it('ends later if the clock is set back', () => {
    const { one, clock, advance } = make();
    one(calendar());
    clock.ofDayMs -= 10_000;
    expect(one(calendar())).toMatchObject({ allowed: false, retryAfterMs: 70_000 });
    advance(69_999);
    expect(one(calendar())).toMatchObject({ allowed: false, retryAfterMs: 1 });
    advance(1);
    expect(one(calendar(NEXT))).toMatchObject({ allowed: true });
  });

  it('counts in the period of the store, if a process still has the one before', () => {
    const { one, advance } = make();
    one(calendar());
    advance(60_000);
    expect(one(calendar())).toMatchObject({ allowed: true, used: 1, resetAfterMs: 60_000 });
    expect(one(calendar(NEXT))).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
  });

  it('is the only kind that follows the time of day', () => {
    const { one, clock } = make();
    const results = [];
    for (const jump of [0, 1e9, -1e9]) {
      clock.ofDayMs += jump;
      results.push(one(sliding('s')), one(bucket('b', { limit: 1, kind: { ...BUCKET, burst: 2 } })));
    }
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false, false]);
  });
});
