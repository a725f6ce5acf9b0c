import fc from 'fast-check';
import { type Check, type CheckResult, passesAll } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { checkOf, KIND_CASES } from '../support/kind-checks.js';
import type { TimedSubject } from '../support/timed-subjects.js';

const LIFE_MS = 15_000;

/** What concurrency counters promise, as a test. */
export function describeLeases(name: string, start: () => Promise<TimedSubject>): void {
  describe(`leases in the ${name} store`, () => {
    let subject: TimedSubject;
    let store: Store;
    let serial = 0;

    beforeAll(async () => {
      subject = await start();
      store = subject.store;
    });
    afterAll(() => subject.stop());

    /** Makes checks on a new counter, each with its own lease. */
    function counter(limit = 2): (parts?: Partial<Check>) => Check {
      const key = `leases-${++serial}`;
      return (parts) =>
        check(key, {
          group: 'leases',
          kind: { type: 'concurrency' },
          windowMs: LIFE_MS,
          limit,
          lease: `lease-${++serial}`,
          ...parts,
        });
    }

    const consume = async (...checks: Check[]): Promise<CheckResult[]> => store.consume(checks);
    const take = async (one: Check): Promise<CheckResult> => (await consume(one))[0]!;
    const peek = async (one: Check): Promise<CheckResult> => (await store.peek([one]))[0]!;
    const release = async (one: Check, result: CheckResult): Promise<CheckResult> =>
      (await store.settle([one], [result], [0]))[0]!;
    const advance = (ms: number): void => void (subject.clock.nowMs += ms);
    const shut = (): Check => check(`shut-${++serial}`, { limit: 0 });

    it('allows exactly the limit at once, and says that when one ends is not known', async () => {
      const of = counter();
      expect(await peek(of())).toMatchObject({ allowed: true, used: 0, remaining: 2, resetAfterMs: 0 });
      for (const used of [1, 2]) {
        expect(await take(of())).toEqual({
          name: of().key,
          allowed: true,
          limit: 2,
          windowMs: LIFE_MS,
          cost: 1,
          used,
          remaining: 2 - used,
          resetAfterMs: 1_000,
          retryAfterMs: 0,
          source: 'store',
          concurrency: true,
        });
      }
      expect(await take(of())).toMatchObject({ allowed: false, used: 2, remaining: 0, retryAfterMs: 1_000 });
      expect(await peek(of())).toMatchObject({ allowed: false, used: 2, concurrency: true });
    });

    it('denies everything with a limit of 0, and takes nothing at a cost of 0', async () => {
      const of = counter(0);
      expect(await take(of())).toMatchObject({
        allowed: false,
        used: 0,
        resetAfterMs: 0,
        retryAfterMs: 1_000,
      });
      expect(await take(of({ cost: 0, limit: 5 }))).toMatchObject({ allowed: true, used: 0 });
      expect(await subject.timeLeft(of())).toBeUndefined();
    });

    it('takes no lease if another check denies, and charges nothing if the lease is denied', async () => {
      const of = counter(1);
      expect((await consume(of(), shut()))[0]).toMatchObject({ allowed: true, used: 0 });
      expect(await subject.timeLeft(of())).toBeUndefined();
      await take(of());
      const others = KIND_CASES.map((kind) => checkOf(kind, `other-${++serial}`, subject.clock.nowMs));
      const results = await consume(...others, of());
      expect(passesAll([...others, of()], results)).toBe(false);
      for (const other of others) expect(await peek(other)).toMatchObject({ allowed: true, used: 0 });
    });

    it('takes a lease together with what counters of all kinds charge', async () => {
      const of = counter();
      const others = KIND_CASES.map((kind) => checkOf(kind, `with-${++serial}`, subject.clock.nowMs));
      const results = await consume(of(), ...others);
      expect(results.map(({ used }) => used)).toEqual(results.map(() => 1));
    });

    it('releases a lease once, also for a result that it did not return', async () => {
      const of = counter();
      const [one, two] = [of(), of()];
      const result = await take(one);
      await take(two);
      expect(await release(one, result)).toMatchObject({ allowed: true, used: 1, concurrency: true });
      await release(one, { ...result });
      await release(of(), result);
      expect(await peek(of())).toMatchObject({ used: 1 });
      await release(two, { ...result });
      expect(await peek(of())).toMatchObject({ used: 0, resetAfterMs: 0 });
      expect(await subject.timeLeft(of())).toBeUndefined();
    });

    it('releases a lease whatever its cost was, together with other refunds', async () => {
      const of = counter();
      const checks = [of(), check(`rate-${++serial}`, { limit: 5, cost: 3 })];
      const results = await store.consume(checks, true);
      const settled = await store.settle(checks, results, [7, 1]);
      expect(settled.map(({ used }) => used)).toEqual([0, 1]);
    });

    it('releases the right leases next to a check that took none', async () => {
      const of = counter();
      const checks = [of({ cost: 0 }), of(), of({ shadow: true, limit: 0 })];
      const results = await store.consume(checks, true);
      expect(results.map(({ used }) => used)).toEqual([0, 1, 1]);
      const settled = await store.settle(checks, results, [0, 0, 0]);
      expect(settled.map(({ used }) => used)).toEqual([0, 0, 0]);
      expect(await peek(of())).toMatchObject({ used: 0 });
    });

    it('lets a lease lapse at the end of its life, and not before', async () => {
      const of = counter();
      await take(of());
      advance(10);
      await take(of());
      advance(LIFE_MS - 10);
      expect(await peek(of())).toMatchObject({ allowed: false, used: 2 });
      advance(1);
      expect(await take(of())).toMatchObject({ allowed: true, used: 2 });
      advance(LIFE_MS + 1);
      expect(await peek(of())).toMatchObject({ used: 0 });
      expect(await subject.timeLeft(of())).toBeUndefined();
    });

    it('keeps a lease as long as it is renewed', async () => {
      const of = counter(1);
      const mine = of();
      await take(mine);
      for (let i = 0; i < 20; i++) {
        advance(LIFE_MS);
        expect(await store.renew([mine])).toEqual([true]);
        expect(await take(of())).toMatchObject({ allowed: false, used: 1 });
      }
    });

    it('counts a lease again that is renewed too late, also above the limit', async () => {
      const of = counter(1);
      const [late, next] = [of(), of()];
      await take(late);
      advance(LIFE_MS + 1);
      await take(next);
      expect(await store.renew([late, next])).toEqual([false, true]);
      expect(await peek(of())).toMatchObject({ allowed: false, used: 2, remaining: 0 });
    });

    it('renews the leases of many counters in one step, in any order', async () => {
      const [a, b, c] = [counter(), counter(), counter()].map((of) => [of(), of()] as const);
      await consume(...a!, ...b!, c![0]);
      expect(await store.renew([a![0], c![0], b![1], a![1], c![1], b![0]])).toEqual([
        true,
        true,
        true,
        true,
        false,
        true,
      ]);
      expect(await store.renew([])).toEqual([]);
    });

    it('renews hundreds of leases', async () => {
      const of = counter(1_000);
      const all = Array.from({ length: 700 }, () => of());
      for (let i = 0; i < 700; i += 100) await consume(...all.slice(i, i + 100));
      advance(LIFE_MS);
      expect(await store.renew(all)).toEqual(all.map(() => true));
      advance(LIFE_MS);
      expect(await peek(of())).toMatchObject({ used: 700 });
    });

    it('ends all leases by a reset, until their work is renewed', async () => {
      const of = counter(1);
      const mine = of();
      const result = await take(mine);
      await store.reset([of()]);
      expect(await peek(of())).toMatchObject({ allowed: true, used: 0 });
      expect(await store.renew([mine])).toEqual([false]);
      expect(await peek(of())).toMatchObject({ allowed: false, used: 1 });
      await release(mine, result);
    });

    it('takes no lease for a shadow rule that would deny', async () => {
      const of = counter(1);
      await take(of());
      const real = check(`real-${++serial}`, { limit: 5 });
      expect(await consume(of({ shadow: true }), real)).toMatchObject([
        { allowed: false, used: 1, retryAfterMs: 1_000 },
        { allowed: true, used: 1 },
      ]);
      expect(await peek(of())).toMatchObject({ used: 1 });
    });

    it('applies another limit at once', async () => {
      const of = counter();
      await take(of());
      expect(await take(of({ limit: 1 }))).toMatchObject({ allowed: false, used: 1, remaining: 0 });
      expect(await take(of({ limit: Infinity }))).toMatchObject({ allowed: true, remaining: Infinity });
    });

    it('allows exactly the limit of many requests at once', async () => {
      const of = counter(7);
      const checks = Array.from({ length: 100 }, () => [of(), check(`wide-${serial}`, { limit: 1_000 })]);
      const all = await Promise.all(checks.map((one) => consume(...one)));
      const passed = all.filter((results, i) => passesAll(checks[i]!, results));
      expect(passed).toHaveLength(7);
      expect(await peek(of())).toMatchObject({ used: 7 });
      // each has its own lease
      for (const [i, one] of checks.entries()) if (all[i]![0]!.allowed) await release(one[0]!, all[i]![0]!);
      expect(await peek(of())).toMatchObject({ used: 0 });
    });

    it('has what was taken, renewed and not released at any time, and never takes more than the limit', async () => {
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ type: fc.constant('take'), which: fc.nat(), ms: fc.nat(0) }) },
        fc.record({
          type: fc.constantFrom('release', 'release', 'renew', 'advance'),
          which: fc.nat(),
          ms: fc.constantFrom(1, 4_999, 5_000, 10_000, LIFE_MS, LIFE_MS + 1),
        }),
      );
      const steps = fc.array(step, { minLength: 1, maxLength: 30, size: 'max' });
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (limit, all) => {
          const of = counter(limit);
          const ends = new Map<Check, number>();
          const taken: [Check, CheckResult][] = [];
          const live = (): number =>
            [...ends.values()].filter((endsAtMs) => subject.clock.nowMs <= endsAtMs).length;
          for (const { type, which, ms } of all) {
            const [one, result] = taken[which % taken.length] ?? [];
            if (type === 'advance') advance(ms);
            else if (type === 'take') {
              const mine = of();
              const before = live();
              const got = await take(mine);
              expect(got.allowed).toBe(before < limit);
              if (got.allowed) ends.set(mine, subject.clock.nowMs + LIFE_MS);
              if (got.allowed) taken.push([mine, got]);
            } else if (one !== undefined && result !== undefined && type === 'release') {
              await release(one, result);
              ends.delete(one);
            } else if (one !== undefined && ends.has(one)) {
              const wasThere = subject.clock.nowMs <= ends.get(one)!;
              expect(await store.renew([one])).toEqual([wasThere]);
              ends.set(one, subject.clock.nowMs + LIFE_MS);
            }
            expect((await peek(of())).used).toBe(live());
          }
          await store.reset([of()]);
        }),
        { numRuns: 60 },
      );
    });
  });
}
