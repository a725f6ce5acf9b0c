import fc from 'fast-check';
import type { Check, CheckResult } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { BLOCK_MS, checkOf, KIND_CASES, type KindParts } from '../support/kind-checks.js';
import type { TimedSubject } from '../support/timed-subjects.js';

const MAX = Number.MAX_SAFE_INTEGER;
const WINDOW_MS = 1_600;

/** What every store promises about settlements, as a test. */
export function describeSettlements(name: string, start: () => Promise<TimedSubject>): void {
  describe(`a settlement in the ${name} store`, () => {
    let subject: TimedSubject;
    let store: Store;
    let serial = 0;
    const consume = async (...checks: Check[]): Promise<CheckResult[]> => store.consume(checks, true);
    const one = async (one: Check): Promise<CheckResult> => (await consume(one))[0]!;
    const peek = async (one: Check): Promise<CheckResult> => (await store.peek([one]))[0]!;
    const settle = async (one: Check, result: CheckResult, cost: number): Promise<CheckResult> =>
      (await store.settle([one], [result], [cost]))[0]!;
    const advance = (ms: number): void => void (subject.clock.nowMs += ms);

    beforeAll(async () => {
      subject = await start();
      store = subject.store;
    });
    afterAll(() => subject.stop());

    describe.each(KIND_CASES.map((kind) => [kind.name, kind] as const))('of a %s', (_, kind) => {
      const isBucket = kind.type === 'token-bucket';

      /** A check on a new counter; `of` makes others on it. */
      function counter(): (parts?: KindParts) => Check {
        const key = `settled-${++serial}`;
        return (parts) => checkOf(kind, key, subject.clock.nowMs, parts);
      }

      /** Expects that a counter counts for a time, and exists as long. */
      async function expectKept(one: Check, ms: number): Promise<void> {
        expect(await peek(one)).toMatchObject({ resetAfterMs: ms });
        const keptMs = (await subject.timeLeft(one)) ?? 0;
        // the memory store keeps the last millisecond in which something counts
        expect([ms - 1, ms]).toContain(keptMs);
      }

      it('refunds what the request did not use', async () => {
        const of = counter();
        const four = of({ cost: 4 });
        const result = await one(four);
        const before = (await peek(of())).resetAfterMs;
        expect(await settle(four, result, 1)).toMatchObject({ allowed: true, used: 1, remaining: 4 });
        expect(await peek(of())).toMatchObject({ used: 1 });
        await expectKept(of(), isBucket ? 320 : before);
      });

      it('charges a debt whatever the limit, and begins no block', async () => {
        const of = counter();
        const two = of({ cost: 2 });
        const result = await one(two);
        const before = (await peek(of())).resetAfterMs;
        expect(await settle(two, result, 9)).toMatchObject({
          allowed: true,
          used: 9,
          remaining: 0,
          retryAfterMs: 0,
        });
        expect(await peek({ ...of(), cost: 0, limit: 9 })).not.toHaveProperty('blocked');
        await expectKept(of(), isBucket ? (9 * WINDOW_MS) / 5 : before);
        // the next request crosses the limit
        expect((await one(of())).blocked).toBe(kind.block && true);
      });

      it('changes nothing the second time, also with another cost', async () => {
        const of = counter();
        const two = of({ cost: 2 });
        const result = await one(two);
        await settle(two, result, 1);
        for (const cost of [0, 1, 7]) expect(await settle(two, result, cost)).toEqual(result);
        expect(await peek(of())).toMatchObject({ used: 1 });
      });

      it('of the estimate itself changes nothing, and is the only one', async () => {
        const of = counter();
        const result = await one(of());
        for (const cost of [1, 0, 3]) expect(await settle(of(), result, cost)).toBe(result);
        expect(await peek(of())).toMatchObject({ used: 1 });
      });

      it('goes to no later window', async () => {
        const results: CheckResult[] = [];
        const of = counter();
        const two = of({ cost: 2 });
        for (let i = 0; i < 2; i++) results.push(await one(two));
        advance((await peek(of())).resetAfterMs + 1);
        await one(of({ cost: 3 }));
        await settle(two, results[0]!, 0);
        expect(await peek(of())).toMatchObject({ used: 3 });
        if (isBucket) return;
        await settle(two, results[1]!, 9);
        expect(await peek(of())).toMatchObject({ used: 3 });
      });

      it('creates no counter', async () => {
        if (isBucket) return;
        const of = counter();
        const result = await one(of());
        await store.reset([of()]);
        await settle(of(), result, 5);
        expect(await subject.timeLeft(of())).toBeUndefined();
      });

      it('changes nothing about a block', async () => {
        if (kind.block === undefined) return;
        const of = counter();
        const [four, last] = [of({ cost: 4 }), of()];
        const [first, second] = [await one(four), await one(last)];
        expect(await one(of())).toMatchObject({ blocked: true, retryAfterMs: BLOCK_MS });
        await settle(four, first, 0);
        await settle(last, second, 50);
        advance(BLOCK_MS - 1);
        expect(await peek(of())).toMatchObject({ blocked: true, retryAfterMs: 1 });
        advance(1);
        expect(await one(of())).toMatchObject({ allowed: true, used: 1 });
      });

      it('of a denied request that counts can be less or more', async () => {
        // a denied charge only empties a bucket, and a block replaces the count
        if (isBucket || kind.block !== undefined) return;
        const of = counter();
        const denied = of({ cost: 4, countDenied: true });
        const shut = check(`shut-${++serial}`, { limit: 0 });
        const [, first] = await consume(shut, denied);
        const [, second] = await consume(shut, denied);
        expect(await settle(denied, first!, 1)).toMatchObject({ used: 5 });
        expect(await settle(denied, second!, 6)).toMatchObject({ used: 7 });
      });

      it('stops at 2^53 - 1', async () => {
        const of = counter();
        const results = [await one(of()), await one(of())];
        expect(await settle(of(), results[0]!, MAX)).toMatchObject({ used: MAX });
        expect(await settle(of(), results[1]!, MAX)).toMatchObject({ used: MAX });
        if (!isBucket) expect(await subject.timeLeft(of())).toBeLessThanOrEqual(2 * WINDOW_MS);
      });

      it('of several requests at once leaves the sum of what they used', async () => {
        const costs = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(12)), { maxLength: 12 });
        await fc.assert(
          fc.asyncProperty(costs, async (requests) => {
            const of = counter();
            // as long as a bucket that refills nothing meanwhile
            const checks = requests.map(([cost]) => of({ cost, limit: 1_000 }));
            const results = await Promise.all(checks.map(one));
            await Promise.all(requests.map(([, cost], i) => settle(checks[i]!, results[i]!, cost)));
            const sum = requests.reduce((total, [, cost]) => total + cost, 0);
            expect((await peek(of({ limit: 1_000 }))).used).toBe(sum);
            expect((await subject.timeLeft(of())) === undefined).toBe(sum === 0);
          }),
          { numRuns: 100 },
        );
      });
    });

    it('of a bucket delays the next request by exactly the time that the debt needs to flow in', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 3, max: 60 }), fc.nat(3_000), async (cost, afterMs) => {
          const key = `debt-${++serial}`;
          // 320 ms for each unit
          const of = (parts?: KindParts): Check =>
            checkOf({ type: 'token-bucket', block: undefined }, key, subject.clock.nowMs, parts);
          const two = of({ cost: 2 });
          const result = await one(two);
          advance(afterMs);
          const paidMs = Math.min(afterMs, 640);
          const { used } = await settle(two, result, cost);
          expect(used).toBe(Math.ceil((640 - paidMs) / 320 + cost - 2));
          const waitMs = Math.max(0, 640 - paidMs + (cost - 2) * 320 - 4 * 320);
          expect((await peek(of())).retryAfterMs).toBe(waitMs);
          if (waitMs === 0) return;
          advance(waitMs - 1);
          expect(await one(of())).toMatchObject({ allowed: false, retryAfterMs: 1 });
          advance(1);
          expect(await one(of())).toMatchObject({ allowed: true, used: 5 });
        }),
        { numRuns: 100 },
      );
    });

    it('of a bucket leaves a debt that denies for longer than blocks, and no block begins', async () => {
      const key = `debt-${++serial}`;
      const block = { stepsMs: [2_000], forgiveAfterMs: 1 };
      // 320 ms for each unit
      const of = (parts?: KindParts): Check =>
        checkOf({ type: 'token-bucket', block }, key, subject.clock.nowMs, parts);
      const two = of({ cost: 2 });
      await settle(two, await one(two), 100);
      const denied = await one(of());
      expect(denied).toMatchObject({ allowed: false, used: 100, retryAfterMs: 96 * 320 });
      expect(denied).not.toHaveProperty('blocked');
      // 6 units would take 1,920 ms
      advance(94 * 320);
      expect(await one(of())).toMatchObject({ blocked: true, retryAfterMs: 2_000 });
    });

    it('of several checks is in their order, and leaves those alone that cost what was estimated', async () => {
      const checks = KIND_CASES.map((kind) =>
        checkOf(kind, `several-${++serial}`, subject.clock.nowMs, { cost: 2 }),
      );
      const results = await consume(...checks);
      const costs = checks.map((_, i) => i % 4);
      const settled = await store.settle(checks, results, costs);
      expect(settled.map(({ used }) => used)).toEqual(costs);
      settled.forEach((result, i) => expect(result === results[i]).toBe(costs[i] === 2));
    });
  });
}
