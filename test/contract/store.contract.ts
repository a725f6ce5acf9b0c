import type { Check, CheckResult } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';

/** A store under test, with a way to move time and to inspect its counters. */
export interface Subject {
  readonly store: Store;
  /** Moves time for all windows. */
  advance(ms: number): Promise<void>;
  /** The time left of a counter's window; `undefined` without a counter. */
  timeLeft(check: Check): Promise<number | undefined>;
}

/** Every promise of `Store`, as a test. */
export function describeStore(name: string, start: () => Promise<Subject>, stop: () => Promise<void>): void {
  describe(`the ${name} store`, () => {
    let subject: Subject;
    let store: Store;
    let serial = 0;
    const key = (label: string, windowMs = 60_000): string => `${label}-${++serial}:${windowMs}:x`;
    const consume = async (...checks: Check[]): Promise<CheckResult[]> => store.consume(checks);
    const used = async (one: Check): Promise<number> => (await store.peek([one]))[0]!.used;

    beforeAll(async () => {
      subject = await start();
      store = subject.store;
      await store.open();
    });
    afterAll(stop);

    it('allows exactly the limit, and returns the remaining units', async () => {
      const one = check(key('limit'), { limit: 5 });
      const seen: [boolean, number, number][] = [];
      for (let i = 0; i < 7; i++) {
        const [result] = await consume(one);
        seen.push([result!.allowed, result!.used, result!.remaining]);
      }
      expect(seen).toEqual([
        [true, 1, 4],
        [true, 2, 3],
        [true, 3, 2],
        [true, 4, 1],
        [true, 5, 0],
        [false, 5, 0],
        [false, 5, 0],
      ]);
    });

    it('returns results in the order of the checks, with their names', async () => {
      const checks = [3, 1, 2].map((limit) => check(key('order'), { limit, name: `n${limit}` }));
      expect((await consume(...checks)).map(({ name, limit }) => [name, limit])).toEqual([
        ['n3', 3],
        ['n1', 1],
        ['n2', 2],
      ]);
    });

    it('returns an empty array for an empty array', async () => {
      expect(await store.consume([])).toEqual([]);
      expect(await store.peek([])).toEqual([]);
      await expect(Promise.resolve(store.reset([]))).resolves.toBeUndefined();
    });

    it('charges nothing when one check denies', async () => {
      const day = check(key('day'), { limit: 10 });
      const minute = check(key('minute'), { limit: 1 });
      const results = [];
      for (let i = 0; i < 6; i++) results.push(await consume(day, minute));
      expect(results.map(([, last]) => last!.allowed)).toEqual([true, false, false, false, false, false]);
      expect(results.at(-1)![0]).toMatchObject({ allowed: true, used: 1, remaining: 9 });
      expect(await used(day)).toBe(1);
      expect(await used(minute)).toBe(1);
    });

    it('charges countDenied checks whether the request is allowed or denied, also by themselves', async () => {
      const day = check(key('day'), { limit: 3, countDenied: true });
      const minute = check(key('minute'), { limit: 1 });
      for (let i = 0; i < 6; i++) await consume(day, minute);
      expect(await used(day)).toBe(6);
      expect(await used(minute)).toBe(1);
      expect((await consume(day, minute))[0]).toMatchObject({ allowed: false, used: 7, remaining: 0 });
    });

    it('creates no counter when it denies', async () => {
      const fresh = check(key('fresh'), { limit: 5 });
      const closed = check(key('closed'), { limit: 0 });
      const [one, two] = await consume(fresh, closed);
      expect(one).toMatchObject({ allowed: true, used: 0, remaining: 5, resetAfterMs: 0, retryAfterMs: 0 });
      expect(two).toMatchObject({
        allowed: false,
        used: 0,
        remaining: 0,
        resetAfterMs: 0,
        retryAfterMs: 60_000,
      });
      expect(await subject.timeLeft(fresh)).toBeUndefined();
      expect(await subject.timeLeft(closed)).toBeUndefined();
    });

    it('denies a cost above the remaining units, and charges nothing', async () => {
      const of = (cost: number): Check => check('', { limit: 5, cost });
      const counter = key('cost');
      const consumeCost = async (cost: number): Promise<CheckResult> =>
        (await consume({ ...of(cost), key: counter }))[0]!;
      expect(await consumeCost(4)).toMatchObject({ allowed: true, used: 4, remaining: 1 });
      expect(await consumeCost(4)).toMatchObject({ allowed: false, used: 4, remaining: 1 });
      expect(await consumeCost(100)).toMatchObject({ allowed: false, used: 4 });
      expect(await consumeCost(1)).toMatchObject({ allowed: true, used: 5, remaining: 0 });
    });

    it('leaves a counter exact when the largest cost is denied', async () => {
      const one = check(key('huge'), { limit: 6 });
      for (let i = 0; i < 6; i++) await consume(one);
      for (let i = 0; i < 5; i++) await consume({ ...one, cost: Number.MAX_SAFE_INTEGER });
      expect((await consume(one))[0]).toMatchObject({ allowed: false, used: 6 });
      const near = check(key('near'), { limit: Number.MAX_SAFE_INTEGER, cost: Number.MAX_SAFE_INTEGER - 1 });
      await consume(near);
      for (const cost of [2, 3, Number.MAX_SAFE_INTEGER]) await consume({ ...near, cost });
      expect((await consume({ ...near, cost: 1 }))[0]).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('still denies after huge costs of denied requests', async () => {
      const one = check(key('flood'), { limit: 5, countDenied: true, cost: Number.MAX_SAFE_INTEGER - 1 });
      const full = { allowed: false, used: Number.MAX_SAFE_INTEGER, remaining: 0 };
      for (let i = 0; i < 22; i++) {
        // more than 2^63 in total
        const results = await Promise.all(Array.from({ length: 50 }, () => consume(one)));
        expect(results.every(([result]) => !result!.allowed)).toBe(true);
      }
      expect((await consume(one))[0]).toMatchObject(full);
      expect((await consume({ ...one, cost: 1 }))[0]).toMatchObject(full);
      expect((await consume({ ...one, cost: 1, countDenied: false }))[0]).toMatchObject(full);
      expect((await store.peek([{ ...one, limit: Number.MAX_SAFE_INTEGER, cost: 1 }]))[0]).toMatchObject(
        full,
      );
      expect((await consume({ ...one, limit: Infinity }))[0]).toMatchObject({
        allowed: true,
        used: Number.MAX_SAFE_INTEGER,
      });
      expect((await consume({ ...one, limit: Number.MAX_SAFE_INTEGER, cost: 0 }))[0]).toMatchObject({
        allowed: true,
        remaining: 0,
      });
      expect(await subject.timeLeft(one)).toBeGreaterThan(50_000);
    });

    it('decides checks of one counter with a sum of costs that is too large', async () => {
      const cost = Number.MAX_SAFE_INTEGER - 1;
      const seen = (results: CheckResult[]): unknown[] => results.map(({ allowed, used }) => [allowed, used]);
      const vast = check(key('vast-twice'), { limit: Number.MAX_SAFE_INTEGER, cost });
      expect(seen(await consume(vast, vast))).toEqual([
        [true, 0],
        [false, 0],
      ]);
      expect(await subject.timeLeft(vast)).toBeUndefined();
      const counting = { ...vast, countDenied: true };
      expect(seen(await consume(vast, counting))).toEqual([
        [true, 1],
        [false, 1],
      ]);
      expect(await subject.timeLeft(vast)).toBeGreaterThan(50_000);
      const unlimited = check(key('unlimited'), { limit: Infinity, cost });
      expect(seen(await consume(unlimited, unlimited, { ...unlimited, cost: 0 }))).toEqual([
        [true, cost],
        [true, cost + 1],
        [true, cost + 1],
      ]);
      expect(await subject.timeLeft(unlimited)).toBeGreaterThan(50_000);
    });

    it('charges nothing at a cost of 0', async () => {
      const look = check(key('look'), { limit: 1, cost: 0 });
      expect((await consume(look))[0]).toMatchObject({
        allowed: true,
        used: 0,
        remaining: 1,
        resetAfterMs: 0,
      });
      expect(await subject.timeLeft(look)).toBeUndefined();
      await consume({ ...look, cost: 1 });
      expect((await consume(look))[0]).toMatchObject({ allowed: true, used: 1, remaining: 0 });
      expect(await used(look)).toBe(1);
    });

    it('only counts without a limit', async () => {
      const count = check(key('count'), { limit: Infinity, cost: 3 });
      const prior: number[] = [];
      for (let i = 0; i < 3; i++) {
        const [result] = await consume(count);
        expect(result).toMatchObject({ allowed: true, limit: Infinity, remaining: Infinity });
        prior.push(result!.used - result!.cost);
      }
      expect(prior).toEqual([0, 3, 6]);
    });

    it('counts exactly up to the largest limit', async () => {
      const limit = Number.MAX_SAFE_INTEGER;
      const vast = check(key('vast'), { limit });
      await consume(vast, check(key('vast-too'), { limit }));
      await consume(vast);
      expect((await consume(vast))[0]!.remaining).toBe(limit - 3);
      const whole = check(key('whole'), { limit, cost: limit });
      expect((await consume(whole))[0]).toMatchObject({ allowed: true, used: limit, remaining: 0 });
      expect((await consume({ ...whole, cost: 1 }))[0]).toMatchObject({ allowed: false, used: limit });
    });

    it('decides checks with one key in turn', async () => {
      const twice = check(key('twice'), { limit: 3 });
      expect((await consume(twice, twice)).map((result) => result.used)).toEqual([1, 2]);
      expect((await consume(twice, twice)).map((result) => result.allowed)).toEqual([true, false]);
      expect(await used(twice)).toBe(2);
    });

    it('returns the count after a denied request, also for a counter that it has twice', async () => {
      const one = check(key('denied-twice'), { limit: 3 });
      await consume(one, one);
      expect(
        (await consume(one, one)).map(({ allowed, used, remaining }) => [allowed, used, remaining]),
      ).toEqual([
        [true, 2, 1],
        [false, 2, 1],
      ]);
    });

    it('keeps the charge of countDenied on a counter that another check of the request created', async () => {
      const counter = key('mixed');
      const plain = check(counter, { limit: 5 });
      const counting = check(counter, { limit: 5, countDenied: true });
      const closed = check(key('closed'), { limit: 0 });
      await consume(plain, counting, closed);
      expect(await used(plain)).toBe(1);
      expect(await subject.timeLeft(plain)).toBeGreaterThan(59_000);
    });

    it('starts a window at the first charged request, and never moves its end', async () => {
      const one = check(key('window'), { limit: 2, windowMs: 60_000 });
      expect((await consume(one))[0]!.resetAfterMs).toBe(60_000);
      await subject.advance(20_000);
      const [second] = await consume(one);
      expect(second!.resetAfterMs).toBeGreaterThan(39_000);
      expect(second!.resetAfterMs).toBeLessThanOrEqual(40_000);
      await subject.advance(20_000);
      const [denied] = await consume(one);
      expect(denied!.allowed).toBe(false);
      expect(denied!.resetAfterMs).toBeLessThanOrEqual(20_000);
      expect(denied!.retryAfterMs).toBe(denied!.resetAfterMs + 1);
      await subject.advance(20_001);
      expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 1 });
    });

    it('gives each counter its own window', async () => {
      const [a, b] = [check(key('a'), { windowMs: 60_000 }), check(key('b'), { windowMs: 60_000 })];
      await consume(a);
      await subject.advance(50_000);
      await consume(b);
      await subject.advance(15_000);
      expect((await consume(a))[0]!.allowed).toBe(true);
      expect((await consume(b))[0]!.allowed).toBe(false);
    });

    it('allows a client that keeps trying after the window', async () => {
      const one = check(key('retry'), { limit: 5, windowMs: 60_000 });
      const passed: number[] = [];
      for (let second = 0; second <= 62; second++) {
        if ((await consume(one))[0]!.allowed) passed.push(second);
        await subject.advance(1_000);
      }
      // 61 if only the clock of the test moves, 60 if real time passes
      expect(passed.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
      expect(passed[5]).toBeGreaterThanOrEqual(60);
      expect(passed[5]).toBeLessThanOrEqual(61);
    });

    it('denies for one window at most, also with countDenied', async () => {
      const one = check(key('count-retry'), { limit: 1, windowMs: 60_000, countDenied: true });
      for (let i = 0; i < 12; i++) {
        await consume(one);
        await subject.advance(5_000);
      }
      await subject.advance(1_000);
      expect((await consume(one))[0]).toMatchObject({ allowed: true, used: 1 });
    });

    it('keeps a window of a year to its end', async () => {
      const year = 365 * 86_400_000;
      const one = check(key('year', year), { windowMs: year });
      await consume(one);
      for (const days of [25, 339]) {
        await subject.advance(days * 86_400_000);
        expect((await consume(one))[0]!.allowed).toBe(false);
      }
      await subject.advance(86_400_000 + 1);
      expect((await consume(one))[0]!.allowed).toBe(true);
    });

    it('peeks at each check separately and charges none', async () => {
      const spent = check(key('spent'), { limit: 1 });
      const free = check(key('free'), { limit: 2 });
      await consume(spent);
      for (let i = 0; i < 3; i++) {
        const [one, two] = await store.peek([spent, free]);
        expect(one).toMatchObject({ allowed: false, used: 1, remaining: 0 });
        expect(one!.retryAfterMs).toBeGreaterThan(59_000);
        expect(two).toMatchObject({ allowed: true, used: 0, remaining: 2, resetAfterMs: 0, retryAfterMs: 0 });
      }
      expect(await subject.timeLeft(free)).toBeUndefined();
    });

    it('resets one counter and no other', async () => {
      const [gone, kept] = [check(key('*')), check(key('kept'))];
      await consume(gone, kept);
      await store.reset([gone, check(key('never-seen'))]);
      expect((await consume(gone))[0]!.allowed).toBe(true);
      expect((await consume(kept))[0]!.allowed).toBe(false);
    });

    it('applies a raised and a lowered limit at once, on the same counter', async () => {
      const of = (limit: number): Check => check('raised:60000:x', { limit });
      for (let i = 0; i < 8; i++) await consume(of(3));
      expect((await consume(of(10)))[0]).toMatchObject({ allowed: true, used: 4, remaining: 6 });
      expect((await consume(of(3)))[0]).toMatchObject({ allowed: false, used: 4, remaining: 0 });
    });

    it.each(['constructor', '__proto__', 'hasOwnProperty'])(
      'counts the key %s like any other',
      async (name) => {
        expect((await consume(check(name)))[0]!.allowed).toBe(true);
        expect((await consume(check(name)))[0]!.allowed).toBe(false);
      },
    );

    it('allows exactly the limit of many requests at once', async () => {
      const [small, large] = [check(key('small'), { limit: 50 }), check(key('large'), { limit: 1_000 })];
      const all = await Promise.all(Array.from({ length: 500 }, () => consume(large, small)));
      expect(all.filter((results) => results.every((result) => result.allowed))).toHaveLength(50);
      expect(await used(large)).toBe(50);
    });

    it.each([1, 2, 20, 200])('decides %i checks together', async (count) => {
      const checks = Array.from({ length: count }, (_, i) =>
        check(key(`many${i}`), { limit: i === count - 1 ? 1 : 5 }),
      );
      expect((await consume(...checks)).every((result) => result.allowed)).toBe(true);
      const second = await consume(...checks);
      expect(second.filter((result) => !result.allowed)).toHaveLength(1);
      expect(second.map((result) => result.used)).toEqual(checks.map(() => 1));
    });
  });
}
