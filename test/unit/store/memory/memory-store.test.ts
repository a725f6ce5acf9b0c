import { jest } from '@jest/globals';
import fc from 'fast-check';
import type { Check, CheckResult } from '../../../../src/core/check.js';
import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';
import { quiet } from '../../../support/subjects.js';
import { refundAll } from '../../../support/refund-all.js';

const DAY_MS = 86_400_000;

let nowMs = 0;
let store: MemoryStore;

beforeEach(() => {
  nowMs = 0;
  store = new MemoryStore(1_000, quiet, () => nowMs);
});

/** Whether requests at these moments pass. */
const requestsAt = (
  moments: readonly number[],
  key: string,
  parts: { limit: number; windowMs: number },
): boolean[] =>
  moments.map((moment) => {
    nowMs = moment;
    return store.consume([check(key, parts)])[0]!.allowed;
  });

describe('a window', () => {
  it('opens at the first request and ends after its last millisecond', () => {
    const moments = [500, 600, 1_499, 1_500, 1_501, 2_501, 2_502];
    expect(requestsAt(moments, 'a', { limit: 1, windowMs: 1_000 })).toEqual([
      true,
      false,
      false,
      false,
      true,
      false,
      true,
    ]);
  });

  it('is never opened early by rounding', () => {
    const moments = [0, 100, 600, 1_000, 1_200, 1_450, 1_600];
    const answers = [true, true, false, false, false, false, true];
    expect(requestsAt(moments, 'a', { limit: 2, windowMs: 1_500 })).toEqual(answers);
  });

  it('is different for each counter', () => {
    const rule = { limit: 1, windowMs: 3_000 };
    expect(requestsAt([0], 'A', rule)).toEqual([true]);
    expect(requestsAt([2_500], 'B', rule)).toEqual([true]);
    expect(requestsAt([3_100], 'A', rule)).toEqual([true]);
    expect(requestsAt([3_100, 5_400, 5_501], 'B', rule)).toEqual([false, false, true]);
  });

  it('may be a year long', () => {
    const year = 365 * DAY_MS;
    const [first, second] = [0, 0].map(() => store.consume([check('a', { windowMs: year })])[0]!);
    expect(first!.allowed).toBe(true);
    expect(second).toMatchObject({ allowed: false, retryAfterMs: year + 1 });
    expect(requestsAt([25 * DAY_MS, 364 * DAY_MS, year + 1], 'a', { limit: 1, windowMs: year })).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('is never extended', () => {
    const moments = Array.from({ length: 70 }, (_, i) => i * 100);
    const allowed = requestsAt(moments, 'a', { limit: 1, windowMs: 2_000 });
    expect(moments.filter((_, i) => allowed[i])).toEqual([0, 2_100, 4_200, 6_300]);
  });

  it('has a retry time of one millisecond in its last millisecond', () => {
    const parts = { limit: 1, windowMs: 60_000 };
    requestsAt([0], 'a', parts);
    nowMs = 60_000;
    expect(store.consume([check('a', parts)])).toMatchObject([{ allowed: false, used: 1, retryAfterMs: 1 }]);
  });

  it('lasts whole milliseconds on a clock with fractions', () => {
    nowMs = 0.9;
    const [result] = store.consume([check('a')]);
    expect(result!.resetAfterMs).toBe(60_000);
    nowMs = 10.2;
    expect(store.peek([check('a')])[0]!.resetAfterMs).toBe(59_990);
  });
});

describe('consume', () => {
  it('returns the running example', () => {
    const tenAMinute = check('a', { limit: 10 });
    for (let i = 0; i < 5; i++) store.consume([tenAMinute]);
    nowMs = 20_000;
    expect(store.consume([tenAMinute])).toEqual([
      {
        name: 'a',
        allowed: true,
        limit: 10,
        windowMs: 60_000,
        cost: 1,
        used: 6,
        remaining: 4,
        resetAfterMs: 40_000,
        retryAfterMs: 0,
        source: 'store',
      },
    ]);
  });

  it('leaves no trace of a denied request', () => {
    store.consume([check('minute')]);
    const denied = store.consume([check('day', { limit: 10 }), check('minute')]);
    expect(denied.map(({ allowed, used }) => [allowed, used])).toEqual([
      [true, 0],
      [false, 1],
    ]);
    expect(store.size).toBe(1);
  });
});

describe('reset and close', () => {
  it('delete counters, and ignore checks without one', () => {
    store.consume([check('a'), check('b')]);
    store.reset([check('a'), check('never seen')]);
    expect(store.peek([check('a'), check('b')]).map(({ used }) => used)).toEqual([0, 1]);
  });

  it('may happen twice', async () => {
    store.consume([check('a')]);
    await store.open();
    await store.close();
    await store.close();
    expect(store.size).toBe(0);
  });
});

describe('under fake timers', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('returns results without a promise, and follows the fake clock', () => {
    jest.useFakeTimers();
    const own = new MemoryStore(10, quiet);
    const isAllowed = (): boolean => own.consume([check('a', { windowMs: 60_000 })])[0]!.allowed;
    expect([isAllowed(), isAllowed()]).toEqual([true, false]);
    jest.advanceTimersByTime(59_999);
    expect(isAllowed()).toBe(false);
    jest.advanceTimersByTime(2);
    expect(isAllowed()).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ignores changes of the system time', () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const own = new MemoryStore(10, quiet);
    const isAllowed = (): boolean => own.consume([check('a', { windowMs: 60_000 })])[0]!.allowed;
    expect(isAllowed()).toBe(true);
    for (const offset of [3_600_000, -3_600_000]) {
      jest.setSystemTime(Date.now() + offset);
      expect(isAllowed()).toBe(false);
    }
  });
});

describe('settle', () => {
  const ten = check('a', { limit: 10 });
  const used = (key = 'a'): number => store.peek([check(key)])[0]!.used;
  const consume = (...checks: Check[]): CheckResult[] => store.consume(checks, true);

  it('undoes the charge, and returns the new count', () => {
    store.consume([{ ...ten, cost: 2 }]);
    nowMs = 20_000;
    const results = consume({ ...ten, cost: 3 });
    expect(results).toMatchObject([{ used: 5 }]);
    nowMs = 21_000;
    expect(refundAll(store, [{ ...ten, cost: 3 }], results)).toEqual([
      {
        name: 'a',
        allowed: true,
        limit: 10,
        windowMs: 60_000,
        cost: 3,
        used: 2,
        remaining: 8,
        resetAfterMs: 39_000,
        retryAfterMs: 0,
        source: 'store',
      },
    ]);
    expect(used()).toBe(2);
  });

  it('deletes a counter that counts nothing any more', () => {
    const results = consume(ten);
    expect(refundAll(store, [ten], results)).toMatchObject([{ used: 0, remaining: 10, resetAfterMs: 0 }]);
    expect(store.size).toBe(0);
    nowMs = 30_000;
    expect(consume(ten)).toMatchObject([{ used: 1, resetAfterMs: 60_000 }]);
  });

  it('does not change when the window ends', () => {
    store.consume([ten]);
    nowMs = 40_000;
    refundAll(store, [ten], consume(ten));
    nowMs = 60_000;
    expect(used()).toBe(1);
    nowMs = 60_001;
    expect(used()).toBe(0);
  });

  it('does nothing the second time', () => {
    store.consume([{ ...ten, cost: 5 }]);
    const results = consume({ ...ten, cost: 2 });
    refundAll(store, [{ ...ten, cost: 2 }], results);
    expect(refundAll(store, [{ ...ten, cost: 2 }], results)).toEqual(results);
    expect(used()).toBe(5);
  });

  it('works in the last millisecond of the window', () => {
    store.consume([ten]);
    const results = consume(ten);
    nowMs = 60_000;
    expect(refundAll(store, [ten], results)).toMatchObject([{ used: 1, resetAfterMs: 0 }]);
  });

  it('does not change a later window', () => {
    const results = consume({ ...ten, cost: 5 });
    nowMs = 60_001;
    store.consume([{ ...ten, cost: 3 }]);
    expect(refundAll(store, [{ ...ten, cost: 5 }], results)).toMatchObject([
      { used: 3, resetAfterMs: 60_000 },
    ]);
    expect(used()).toBe(3);
  });

  it('creates no counter after the window has ended', () => {
    const results = consume(ten);
    nowMs = 60_001;
    expect(refundAll(store, [ten], results)).toMatchObject([{ used: 0, resetAfterMs: 0 }]);
    expect(store.size).toBe(0);
  });

  it('does not change what was counted since a reset', () => {
    const results = consume({ ...ten, cost: 5 });
    store.reset([ten]);
    refundAll(store, [{ ...ten, cost: 5 }], results);
    expect(store.size).toBe(0);
    const again = consume({ ...ten, cost: 5 });
    store.reset([ten]);
    store.consume([{ ...ten, cost: 3 }]);
    refundAll(store, [{ ...ten, cost: 5 }], again);
    expect(used()).toBe(3);
  });

  it('does not change what was counted since the counter was dropped', () => {
    const small = new MemoryStore(1, quiet, () => nowMs);
    const results = small.consume([ten], true);
    small.consume([check('b', { limit: 10 })]);
    small.consume([ten]);
    refundAll(small, [ten], results);
    expect(small.peek([ten])).toMatchObject([{ used: 1 }]);
  });

  it('undoes the charge of each request, in any order', () => {
    const [first, second] = [consume({ ...ten, cost: 2 }), consume({ ...ten, cost: 3 })];
    refundAll(store, [{ ...ten, cost: 3 }], second);
    expect(used()).toBe(2);
    refundAll(store, [{ ...ten, cost: 2 }], first);
    expect(store.size).toBe(0);
  });

  it('works for several counters, and several checks of one counter', () => {
    const checks = [ten, check('b', { limit: 10, cost: 4 }), { ...ten, cost: 2 }];
    store.consume([ten, check('b')]);
    const results = store.consume(checks, true);
    expect(refundAll(store, checks, results).map((one) => one.used)).toEqual([1, 1, 1]);
    expect([used('a'), used('b')]).toEqual([1, 1]);
  });

  it('undoes only what a denied request was charged', () => {
    store.consume([{ ...ten, cost: 4 }]);
    const checks = [ten, check('b', { countDenied: true, limit: 9 }), check('shut', { limit: 0 })];
    const results = store.consume(checks, true);
    expect(results.map((one) => one.used)).toEqual([4, 1, 0]);
    expect(refundAll(store, checks, results).map((one) => [one.allowed, one.used])).toEqual([
      [true, 4],
      [true, 0],
      [false, 0],
    ]);
    expect([used('a'), used('b')]).toEqual([4, 0]);
  });

  it('does nothing for results of consume without settleable, and for copies', () => {
    const results = store.consume([ten]);
    expect(refundAll(store, [ten], results)).toEqual(results);
    expect(refundAll(store, [ten], [{ ...consume(ten)[0]! }])).toMatchObject([{ used: 2 }]);
    expect(used()).toBe(2);
  });

  it('does nothing for a cost of 0 and for no checks', () => {
    const free = { ...ten, cost: 0 };
    store.consume([ten]);
    expect(refundAll(store, [free], consume(free))).toMatchObject([{ used: 1 }]);
    expect(refundAll(store, [], [])).toEqual([]);
    expect(used()).toBe(1);
  });

  it('does nothing for a charge that was cut off at the maximum', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const open = check('a', { limit: Infinity });
    store.consume([{ ...open, cost: most - 3 }]);
    const results = consume({ ...open, cost: 10 });
    expect(used()).toBe(most);
    refundAll(store, [{ ...open, cost: 10 }], results);
    expect(used()).toBe(most);
  });

  it('keeps the source', () => {
    const fallback = new MemoryStore(10, quiet, () => nowMs, 'memory');
    const results = fallback.consume([ten], true);
    expect(results).toMatchObject([{ source: 'memory' }]);
    expect(fallback.peek([ten])).toMatchObject([{ source: 'memory' }]);
    expect(refundAll(fallback, [ten], results)).toMatchObject([{ source: 'memory' }]);
  });

  it('restores the state before the request, whatever happened before', () => {
    const anyCheck = fc
      .record({ key: fc.constantFrom('a', 'b', 'c'), cost: fc.nat({ max: 4 }), countDenied: fc.boolean() })
      .map(({ key, ...parts }) => check(key, { limit: 9, ...parts }));
    const request = fc.array(anyCheck, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 5 }), request, (history, checks) => {
        const own = new MemoryStore(100, quiet, () => nowMs);
        for (const one of history) own.consume(one);
        const look = (): unknown => [own.size, own.peek(['a', 'b', 'c'].map((key) => check(key)))];
        const before = look();
        refundAll(own, checks, own.consume(checks, true));
        expect(look()).toEqual(before);
      }),
    );
  });
});

describe('health', () => {
  it('is always up', () => {
    expect(store.health()).toEqual({ store: 'memory', isUp: true, reason: undefined, since: undefined });
  });
});
