import type { Check } from '../../src/core/check.js';
import type { Block } from '../../src/core/counter-kind.js';
import { check } from '../support/check.js';
import { checkOf, type KindParts, TYPES } from '../support/kind-checks.js';
import type { TimedSubject } from '../support/timed-subjects.js';
import { timedSuite } from '../support/timed-suite.js';

const LADDER: Block = { stepsMs: [5_000, 20_000, 60_000], forgiveAfterMs: 100_000 };

/** What blocks promise, as a test. */
export function describeBlocks(name: string, start: () => Promise<TimedSubject>): void {
  describe.each(TYPES)(`the block of a %s in the ${name} store`, (type) => {
    const subject = timedSuite(start);
    const { advance, consumeOne: one } = subject;
    let serial = 0;

    /** A new counter with a limit of 2. */
    function counter(block: Block = LADDER): (parts?: KindParts) => Check {
      const key = `block-${++serial}`;
      return (parts) => checkOf({ type, block }, key, subject.clock.nowMs, { limit: 2, ...parts });
    }

    /** Crosses the limit. Returns how long the block lasts. */
    async function offend(of: () => Check): Promise<number> {
      for (let i = 0; i < 2; i++) expect(await one(of())).toMatchObject({ allowed: true });
      const crossing = await one(of());
      expect(crossing).toMatchObject({ allowed: false, blocked: true, used: 2, remaining: 0 });
      expect(crossing.resetAfterMs).toBe(crossing.retryAfterMs);
      return crossing.retryAfterMs;
    }

    it('begins with the request that crosses the limit, in the same step', async () => {
      const of = counter();
      const all = await Promise.all(Array.from({ length: 20 }, () => one(of())));
      expect(all.map(({ allowed }) => allowed)).toEqual(all.map((_, i) => i < 2));
      expect(all.slice(2).every((result) => result.blocked && result.retryAfterMs === 5_000)).toBe(true);
    });

    it('is that of the first check, if checks of one request have others', async () => {
      const of = counter();
      const all = [of(), of({ block: { stepsMs: [50_000], forgiveAfterMs: 1 } }), of({ block: undefined })];
      const results = await subject.store.consume(all);
      expect(results.map(({ retryAfterMs }) => retryAfterMs)).toEqual([0, 0, 5_000]);
      const unblocked = counter();
      const first = [unblocked({ block: undefined }), unblocked({ cost: 2 })];
      expect((await subject.store.consume(first))[1]).not.toHaveProperty('blocked');
      expect(await one(unblocked())).toMatchObject({ allowed: true, used: 1 });
    });

    it('ends after its length to the millisecond, whatever comes meanwhile', async () => {
      const of = counter();
      await offend(of);
      for (let i = 0; i < 9; i++) {
        await one(of({ countDenied: i % 2 === 0, cost: i }));
        advance(500);
      }
      advance(499);
      expect(await one(of())).toMatchObject({ allowed: false, blocked: true, retryAfterMs: 1 });
      advance(1);
      expect(await one(of())).toMatchObject({ allowed: true, used: 1 });
    });

    it('takes the next step for each further offence, and the first one again after a while', async () => {
      const of = counter();
      for (const step of [5_000, 20_000, 60_000, 60_000]) {
        expect(await offend(of)).toBe(step);
        advance(step);
      }
      // the last millisecond that counts, from the end of the block
      advance(100_000);
      expect(await offend(of)).toBe(60_000);
      advance(60_000 + 100_001);
      expect(await offend(of)).toBe(5_000);
    });

    it('is lifted by a reset, which forgets the offences', async () => {
      const of = counter();
      expect(await offend(of)).toBe(5_000);
      advance(5_000);
      expect(await offend(of)).toBe(20_000);
      await subject.store.reset([of()]);
      expect(await offend(of)).toBe(5_000);
    });

    it('lasts at least until the counter is as new', async () => {
      const of = counter({ stepsMs: [1], forgiveAfterMs: 1 });
      await one(of({ cost: 2 }));
      const { resetAfterMs } = await one(of({ cost: 0 }));
      expect(await one(of())).toMatchObject({ blocked: true, retryAfterMs: resetAfterMs });
      advance(resetAfterMs - 1);
      expect(await one(of())).toMatchObject({ blocked: true });
      advance(1);
      // a fixed window ends with its block, and not a millisecond later
      expect(await one(of())).toMatchObject({ allowed: true, used: 1 });
    });

    it('begins if the check denies its request, and not if only another one does', async () => {
      const of = counter();
      const shut = check(`shut-${type}-${++serial}`, { limit: 0 });
      await one(of());
      for (let i = 0; i < 3; i++) await subject.store.consume([of(), shut]);
      expect((await subject.store.peek([of()]))[0]).toMatchObject({ allowed: true, used: 1 });
      await one(of());
      const [crossing, other] = await subject.store.consume([of(), shut]);
      expect(crossing).toMatchObject({ allowed: false, blocked: true });
      expect(other).not.toHaveProperty('blocked');
      expect(await one(of())).toMatchObject({ blocked: true });
    });

    it('begins even if requests are likely to be denied by another check', async () => {
      const of = counter();
      const shut = check(`shut-${type}-${++serial}`, { limit: 0 });
      for (let i = 0; i < 2; i++) await one(of());
      // in a Cluster, the second and later ones peek first
      const others = Array.from({ length: 3 }, (_, i) => check(`other-${type}-${serial}-${i}`, { limit: 9 }));
      for (const other of others) await subject.store.consume([other, shut]);
      await subject.store.consume([...others, of(), shut]);
      expect(await one(of())).toMatchObject({ blocked: true });
      for (const other of others) expect((await subject.store.peek([other]))[0]).toMatchObject({ used: 0 });
    });

    it('does not begin by a peek, nor by a request that costs nothing', async () => {
      const of = counter();
      await one(of({ cost: 2 }));
      expect((await subject.store.peek([of()]))[0]!.allowed).toBe(false);
      expect(await one(of({ cost: 0, limit: 1 }))).toMatchObject({ allowed: false });
      expect((await subject.store.peek([of()]))[0]).not.toHaveProperty('blocked');
    });

    it('of a shadow rule denies no request', async () => {
      const of = counter();
      const real = check(`real-${type}-${++serial}`, { limit: 100 });
      const all = [];
      for (let i = 0; i < 4; i++) all.push(await subject.store.consume([of({ shadow: true }), real]));
      expect(all.map(([shadow]) => shadow!.blocked)).toEqual([undefined, undefined, true, true]);
      expect(all.map(([, other]) => other!.used)).toEqual([1, 2, 3, 4]);
    });

    it('is seen by checks without a block on the same counter, which do not shorten it', async () => {
      const of = counter();
      await offend(of);
      for (const parts of [{}, { cost: 0 }, { cost: 5 }, { countDenied: true }]) {
        const without = { ...of(parts), block: undefined };
        expect((await subject.store.peek([without]))[0]).toMatchObject({ allowed: false });
        expect(await one(without)).toMatchObject({ allowed: false });
      }
      advance(4_999);
      expect(await one(of())).toMatchObject({ blocked: true, retryAfterMs: 1 });
    });
  });
}
