import { type Check, type CheckResult, passesAll } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { BLOCK_MS, checkOf, KIND_CASES, type KindParts } from '../support/kind-checks.js';
import type { TimedSubject } from '../support/timed-subjects.js';
import { refundAll } from '../support/refund-all.js';

const MAX = Number.MAX_SAFE_INTEGER;

/** What every kind of counter promises, as a test. */
export function describeKinds(name: string, start: () => Promise<TimedSubject>): void {
  describe(`the ${name} store`, () => {
    let subject: TimedSubject;
    let store: Store;
    let serial = 0;
    const consume = async (...checks: Check[]): Promise<CheckResult[]> => store.consume(checks, true);
    const one = async (one: Check): Promise<CheckResult> => (await consume(one))[0]!;
    const peek = async (one: Check): Promise<CheckResult> => (await store.peek([one]))[0]!;
    const advance = (ms: number): void => void (subject.clock.nowMs += ms);
    const shut = (): Check => check(`shut-${++serial}`, { limit: 0 });

    beforeAll(async () => {
      subject = await start();
      store = subject.store;
    });
    afterAll(() => subject.stop());

    describe.each(KIND_CASES.map((kind) => [kind.name, kind] as const))('with a counter of %s', (_, kind) => {
      /** A check on a new counter; `of` makes others on it. */
      function counter(): (parts?: KindParts) => Check {
        const key = `counter-${++serial}`;
        return (parts) => checkOf(kind, key, subject.clock.nowMs, parts);
      }

      it('allows exactly the limit, and returns the remaining units', async () => {
        const of = counter();
        for (let used = 1; used <= 5; used++) {
          expect(await one(of())).toMatchObject({
            allowed: true,
            used,
            remaining: 5 - used,
            retryAfterMs: 0,
          });
        }
        for (let i = 0; i < 2; i++) {
          const denied = await one(of());
          expect(denied).toMatchObject({ allowed: false, used: 5, remaining: 0 });
          expect(denied.retryAfterMs).toBeGreaterThan(0);
          expect(denied.blocked).toBe(kind.block && true);
        }
      });

      it('charges nothing when another check denies, and creates no counter', async () => {
        const of = counter();
        expect((await consume(of(), shut()))[0]).toMatchObject({
          allowed: true,
          used: 0,
          remaining: 5,
          resetAfterMs: 0,
        });
        expect(await subject.timeLeft(of())).toBeUndefined();
        await one(of({ cost: 2 }));
        const before = await peek(of());
        expect((await consume(shut(), of({ cost: 3 })))[1]).toMatchObject({ allowed: true, used: 2 });
        expect(await peek(of())).toEqual(before);
      });

      it('charges nothing to others when it denies', async () => {
        const of = counter();
        await one(of({ cost: 5 }));
        const others = KIND_CASES.map((other) => checkOf(other, `other-${++serial}`, subject.clock.nowMs));
        const results = await consume(...others, of());
        expect(passesAll([...others, of()], results)).toBe(false);
        expect(results.slice(0, -1).map(({ allowed, used }) => [allowed, used])).toEqual(
          others.map(() => [true, 0]),
        );
        for (const other of others) expect(await subject.timeLeft(other)).toBeUndefined();
      });

      it('charges countDenied checks also if another check denies', async () => {
        const of = counter();
        for (let used = 1; used <= 5; used++) {
          expect((await consume(of({ countDenied: true }), shut()))[0]).toMatchObject({
            allowed: true,
            used,
          });
        }
        expect((await consume(of({ countDenied: true }), shut()))[0]).toMatchObject({
          allowed: false,
          remaining: 0,
        });
        expect(await one(of())).toMatchObject({ allowed: false });
      });

      it('charges nothing at a cost of 0, and allows it also when it is full', async () => {
        const of = counter();
        expect(await one(of({ cost: 0 }))).toMatchObject({ allowed: true, used: 0, resetAfterMs: 0 });
        expect(await subject.timeLeft(of())).toBeUndefined();
        await one(of({ cost: 5 }));
        expect(await one(of({ cost: 0 }))).toMatchObject({ allowed: true, used: 5, remaining: 0 });
      });

      it('denies a cost above the limit for ever, and charges and blocks nothing', async () => {
        const of = counter();
        for (const cost of [6, MAX]) {
          const denied = await one(of({ cost }));
          expect(denied).toMatchObject({ allowed: false, used: 0, remaining: 5, resetAfterMs: 0 });
          expect(denied).not.toHaveProperty('blocked');
          expect(denied.retryAfterMs).toBeGreaterThan(0);
        }
        expect(await subject.timeLeft(of())).toBeUndefined();
        expect(await one(of({ cost: 5 }))).toMatchObject({ allowed: true, used: 5 });
      });

      it('denies everything but a cost of 0 with a limit of 0', async () => {
        const of = counter();
        const denied = await one(of({ limit: 0 }));
        expect(denied).toMatchObject({ allowed: false, limit: 0, used: 0, remaining: 0, resetAfterMs: 0 });
        expect(denied.retryAfterMs).toBeGreaterThan(0);
        expect(await one(of({ limit: 0, cost: 0 }))).toMatchObject({ allowed: true });
        expect(await subject.timeLeft(of())).toBeUndefined();
      });

      it('peeks at what a request would get, and charges nothing', async () => {
        const of = counter();
        for (let used = 0; used < 7; used++) {
          for (const parts of [
            { countDenied: true },
            { shadow: true },
            { cost: 0 },
            { cost: 3 },
            { cost: 6 },
            {},
          ]) {
            const peeked = await peek(of(parts));
            expect(await peek(of())).toMatchObject({ used: Math.min(used, 5) });
            // such a request is charged, or begins a block
            if (parts.countDenied || (kind.block !== undefined && !peeked.allowed)) continue;
            expect((await consume(of(parts), shut()))[0]).toEqual(peeked);
          }
          await one(of());
        }
      });

      it('decides several checks on it in turn', async () => {
        const of = counter();
        expect((await consume(of({ cost: 2 }), of({ cost: 2 }))).map(({ used }) => used)).toEqual([2, 4]);
        const denied = await consume(of(), of(), of({ cost: 0 }));
        // a denied charge empties a bucket, and no more
        expect(denied.map(({ allowed }) => allowed)).toEqual([true, false, kind.type === 'token-bucket']);
        if (kind.block === undefined) expect(await peek(of())).toMatchObject({ allowed: true, used: 4 });
      });

      it('never denies as a shadow rule, and says what its limit would have said', async () => {
        const of = counter();
        const real = check(`real-${++serial}`, { limit: 100 });
        for (let i = 1; i <= 7; i++) {
          const results = await consume(of({ shadow: true }), real);
          expect(passesAll([of({ shadow: true }), real], results)).toBe(true);
          expect(results[0]!.allowed).toBe(i <= 5);
          expect(results[0]!.used).toBe(Math.min(i, 5));
          expect(results[0]!.retryAfterMs > 0).toBe(i > 5);
          expect(results[1]!.used).toBe(i);
        }
        // it is charged only if the request passes
        const fresh = counter();
        await consume(fresh({ shadow: true }), shut());
        expect(await peek(fresh())).toMatchObject({ used: 0 });
      });

      it('refunds a charge once, and never below 0', async () => {
        const of = counter();
        const [first, second] = [await consume(of({ cost: 2 })), await consume(of())];
        expect((await refundAll(store, [of({ cost: 2 })], first))[0]).toMatchObject({
          allowed: true,
          used: 1,
        });
        expect((await refundAll(store, [of({ cost: 2 })], first))[0]).toEqual(first[0]);
        expect(await peek(of())).toMatchObject({ used: 1 });
        expect((await refundAll(store, [of()], second))[0]).toMatchObject({
          used: 0,
          remaining: 5,
          resetAfterMs: 0,
        });
        await refundAll(store, [of()], second);
        expect(await peek(of())).toMatchObject({ used: 0, resetAfterMs: 0 });
        expect(await subject.timeLeft(of())).toBeUndefined();
      });

      it('refunds nothing that counts no more, and nothing that was charged later', async () => {
        const of = counter();
        const [old, result] = [of({ cost: 3 }), await consume(of({ cost: 3 }))];
        advance(result[0]!.resetAfterMs + 1);
        await one(of({ cost: 2 }));
        const before = await peek(of());
        await refundAll(store, [old], result);
        expect(await peek(of())).toEqual(before);
      });

      it('does not lift a block by a refund, nor by any other request', async () => {
        if (kind.block === undefined) return;
        const of = counter();
        const charged = await consume(of({ cost: 5 }));
        expect(await one(of())).toMatchObject({ blocked: true, retryAfterMs: BLOCK_MS });
        expect((await refundAll(store, [of({ cost: 5 })], charged))[0]).toMatchObject({
          used: 5,
          allowed: true,
        });
        await consume(of({ cost: 9 }));
        await consume(of({ cost: 0 }));
        await consume(of({ countDenied: true, cost: 2 }));
        await consume(of({ limit: 100 }));
        await peek({ ...of(), block: undefined });
        await consume({ ...of(), block: undefined });
        advance(BLOCK_MS - 1);
        expect(await one(of())).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 1 });
        advance(1);
        expect(await one(of())).toMatchObject({ allowed: true, used: 1 });
      });

      it('resets, which also lifts a block', async () => {
        const of = counter();
        const kept = counter();
        for (let i = 0; i < 6; i++) await consume(of());
        await one(kept());
        await store.reset([of(), counter()()]);
        expect(await subject.timeLeft(of())).toBeUndefined();
        expect(await one(of())).toMatchObject({ allowed: true, used: 1 });
        expect(await peek(kept())).toMatchObject({ used: 1 });
      });

      it('applies another limit at once, on the same counter', async () => {
        const of = counter();
        await one(of({ cost: 4 }));
        expect(await peek(of({ limit: 3 }))).toMatchObject({ allowed: false, remaining: 0 });
        expect(await one(of({ limit: 10, cost: 6 }))).toMatchObject({
          allowed: true,
          used: 10,
          remaining: 0,
        });
      });

      it('refills a bucket by the limit of the first check, if checks of one request have others', async () => {
        if (kind.type !== 'token-bucket') return;
        const of = counter();
        const burst = { type: kind.type, burst: 5 };
        const results = await consume(
          { ...of({ cost: 2 }), limit: 5, kind: burst },
          { ...of(), limit: 50, kind: burst },
        );
        expect(results.map(({ resetAfterMs }) => resetAfterMs)).toEqual([640, 960]);
      });

      it('is exact up to 2^53 - 1', async () => {
        const of = counter();
        const year = { windowMs: 31_536_000_000 };
        const vast = (parts: KindParts): Check => of({ ...year, limit: MAX, ...parts });
        expect(await one(vast({ cost: MAX - 3 }))).toMatchObject({
          allowed: true,
          used: MAX - 3,
          remaining: 3,
        });
        expect(await one(vast({ cost: 4 }))).toMatchObject({ allowed: false, remaining: kind.block ? 0 : 3 });
        if (kind.block !== undefined) return;
        expect(await one(vast({ cost: 3 }))).toMatchObject({ allowed: true, used: MAX, remaining: 0 });
        expect(await one(vast({ cost: MAX }))).toMatchObject({ allowed: false, used: MAX });
        await one(vast({ cost: MAX, countDenied: true }));
        expect(await peek(vast({}))).toMatchObject({ allowed: false, used: MAX });
      });

      it('counts without a limit', async () => {
        const of = counter();
        for (const used of [3, 6]) {
          expect(await one(of({ limit: Infinity, cost: 3, windowMs: 60_000 }))).toMatchObject({
            allowed: true,
            used: kind.type === 'token-bucket' ? expect.any(Number) : used,
            remaining: Infinity,
          });
        }
      });

      it('allows exactly the limit of many requests at once, on all counters of a request', async () => {
        const of = counter();
        const others = KIND_CASES.map((other) =>
          checkOf({ ...other, block: undefined }, `wide-${++serial}`, subject.clock.nowMs, { limit: 1_000 }),
        );
        const all = await Promise.all(Array.from({ length: 100 }, () => consume(...others, of())));
        expect(all.filter((results) => passesAll([...others, of()], results))).toHaveLength(5);
        const counts = await Promise.all(others.map(async (other) => (await peek(other)).used));
        expect(new Set(counts)).toEqual(new Set([5]));
      });
    });
  });
}
