import { MemoryStore } from '../../../../src/store/memory/memory-store.js';
import { check } from '../../../support/check.js';

const { jest } = import.meta;
const quiet = { warn: () => undefined, error: () => undefined };
const DAY_MS = 86_400_000;

let nowMs = 0;
let store: MemoryStore;

beforeEach(() => {
  nowMs = 0;
  store = new MemoryStore(1_000, quiet, () => nowMs);
});

/** Whether visits at these moments pass. */
const visitsAt = (
  moments: readonly number[],
  key: string,
  parts: { limit: number; windowMs: number },
): boolean[] =>
  moments.map((moment) => {
    nowMs = moment;
    return store.consume([check(key, parts)])[0]!.allowed;
  });

describe('a window', () => {
  it('opens at the first visit and ends after its last millisecond', () => {
    const moments = [500, 600, 1_499, 1_500, 1_501, 2_501, 2_502];
    expect(visitsAt(moments, 'a', { limit: 1, windowMs: 1_000 })).toEqual([
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
    expect(visitsAt(moments, 'a', { limit: 2, windowMs: 1_500 })).toEqual(answers);
  });

  it('belongs to each counter alone', () => {
    const rule = { limit: 1, windowMs: 3_000 };
    expect(visitsAt([0], 'A', rule)).toEqual([true]);
    expect(visitsAt([2_500], 'B', rule)).toEqual([true]);
    expect(visitsAt([3_100], 'A', rule)).toEqual([true]);
    expect(visitsAt([3_100, 5_400, 5_501], 'B', rule)).toEqual([false, false, true]);
  });

  it('may be a year long', () => {
    const year = 365 * DAY_MS;
    const [first, second] = [0, 0].map(() => store.consume([check('a', { windowMs: year })])[0]!);
    expect(first!.allowed).toBe(true);
    expect(second).toMatchObject({ allowed: false, retryAfterMs: year });
    expect(visitsAt([25 * DAY_MS, 364 * DAY_MS, year + 1], 'a', { limit: 1, windowMs: year })).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('is prolonged by nothing', () => {
    const moments = Array.from({ length: 70 }, (_, i) => i * 100);
    const allowed = visitsAt(moments, 'a', { limit: 1, windowMs: 2_000 });
    expect(moments.filter((_, i) => allowed[i])).toEqual([0, 2_100, 4_200, 6_300]);
  });

  it('makes a visitor in its last millisecond wait for one more', () => {
    const parts = { limit: 1, windowMs: 60_000 };
    visitsAt([0], 'a', parts);
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
  it('answers the running example', () => {
    const tenAMinute = check('a', { limit: 10 });
    for (let visit = 0; visit < 5; visit++) store.consume([tenAMinute]);
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
  it('forget counters, and know nothing of others', () => {
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

  it('answers without waiting, and follows the clock that a test moves', () => {
    jest.useFakeTimers();
    const own = new MemoryStore(10, quiet);
    const visit = (): boolean => own.consume([check('a', { windowMs: 60_000 })])[0]!.allowed;
    expect([visit(), visit()]).toEqual([true, false]);
    jest.advanceTimersByTime(59_999);
    expect(visit()).toBe(false);
    jest.advanceTimersByTime(2);
    expect(visit()).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not mind when somebody sets the time of day', () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const own = new MemoryStore(10, quiet);
    const visit = (): boolean => own.consume([check('a', { windowMs: 60_000 })])[0]!.allowed;
    expect(visit()).toBe(true);
    for (const offset of [3_600_000, -3_600_000]) {
      jest.setSystemTime(Date.now() + offset);
      expect(visit()).toBe(false);
    }
  });
});
