import type { Check } from '../../src/core/check.js';
import { withinShare } from '../../src/rules/max-share.js';
import { check } from '../support/check.js';
import { memorySubject, type RedisSubject, redisSubject } from '../support/subjects.js';
import type { Subject } from './store.contract.js';

const WINDOW_MS = 60_000;
const BLOCK = { stepsMs: [900_000], forgiveAfterMs: 86_400_000 };

/** Each kind, with the letter that its keys have. */
const KINDS = [
  ['a fixed window', '', { type: 'fixed-window' }],
  ['a sliding window', 's', { type: 'sliding-window' }],
  ['a token bucket', 'b', { type: 'token-bucket', burst: 2 }],
] as const;

describe.each(['memory', 'redis'])('blocks in %s', (store) => {
  let subject: Subject;
  beforeAll(async () => {
    subject = store === 'memory' ? memorySubject() : await redisSubject();
  });
  afterEach(async () => {
    if (store === 'redis') expect(await (subject as RedisSubject).sweep()).toEqual([]);
  });
  afterAll(async () => {
    if (store === 'redis') await (subject as RedisSubject).stop();
  });

  describe.each(KINDS)('of %s', (name, letter, kind) => {
    const on = (user: string, parts: Partial<Check> = {}): Check => {
      const group = `${name}~0123456789:${WINDOW_MS}${letter}:`.replaceAll(' ', '-');
      return check(`${group}${user}`, { group, windowMs: WINDOW_MS, kind, limit: 2, block: BLOCK, ...parts });
    };
    const send = async (...checks: Check[]) => (await subject.store.consume(checks))[0]!;

    it('are not shortened by a request above maxShare, before or in the turn in which they begin', async () => {
      const block = { stepsMs: [1_000], forgiveAfterMs: 1_000 };
      const above = withinShare({ ...on('fay', { cost: 2, block }), aboveShare: undefined }, 0.5);
      for (let i = 0; i < 2; i++) await send(on('fay', { block }));
      const results = await Promise.all([above, on('fay', { block })].map((one) => send(one)));
      expect(results.map(({ allowed, blocked }) => [allowed, blocked])).toEqual([
        [false, undefined],
        [false, true],
      ]);
      await send(above);
      const { retryAfterMs } = await send(on('fay', { block }));
      // the counter was full, and a block lasts at least until it is as new
      expect(Math.min(retryAfterMs, results[1]!.retryAfterMs)).toBeGreaterThan(55_000);
    });

    it('begin with the request that crosses the limit', async () => {
      for (let i = 0; i < 2; i++) expect((await send(on('ann'))).allowed).toBe(true);
      expect(await send(on('ann'))).toMatchObject({ blocked: true, retryAfterMs: 900_000 });
      expect((await send(on('ann', { cost: 0 }))).allowed).toBe(false);
    });

    it.each([
      ['a limit of 0', { limit: 0 }],
      ['a cost above the limit', { cost: 3 }],
    ])('do not begin with a request that could never pass: %s', async (why, parts) => {
      expect((await send(on(why, parts))).blocked).toBeUndefined();
      expect((await send(on(why))).allowed).toBe(true);
    });

    it('deny checks of a rule without blocks, and show them the block', async () => {
      const plain = on('bob', { block: undefined });
      const other = on('bob-other');
      for (let i = 0; i < 3; i++) await send(on('bob'));
      const [peeked] = await subject.store.peek([plain]);
      const results = [peeked!, await send(plain), await send(plain, other), await send(other, plain)];
      const free = { ...plain, cost: 0 };
      results.push((await subject.store.peek([free]))[0]!, await send(free));
      for (const result of results.filter(({ name }) => name === plain.name)) {
        expect(result).toMatchObject({ allowed: false, blocked: true, used: 2, remaining: 0 });
        expect(result.retryAfterMs).toBeGreaterThan(890_000);
        expect(result.resetAfterMs).toBe(result.retryAfterMs);
      }
      expect((await subject.store.peek([other]))[0]).toMatchObject({ allowed: true, used: 0 });
      await subject.store.reset([plain]);
      expect(await send(plain)).toMatchObject({ allowed: true, used: 1 });
    });

    it('do not deny a check without a limit, and charge nothing', async () => {
      const endless =
        kind.type === 'token-bucket' ? { kind: { ...kind, burst: Infinity } } : { limit: Infinity };
      const one = on('eve', { ...endless, block: undefined });
      for (let i = 0; i < 3; i++) await send(on('eve'));
      for (const result of [await send(one), (await subject.store.peek([one]))[0]!]) {
        expect(result).toMatchObject({ allowed: true, used: 0, retryAfterMs: 0 });
        expect(result.blocked).toBeUndefined();
        expect(result.resetAfterMs).toBeGreaterThan(890_000);
      }
      expect((await send(on('eve'))).blocked).toBe(true);
    });

    it.each([
      ['one that could never pass', { cost: 3 }],
      ['one of a rule without blocks', { block: undefined }],
      ['one of a rule with a limit of 0', { limit: 0 }],
    ])('are not shortened by requests: %s', async (who, parts) => {
      for (let i = 0; i < 3; i++) await send(on(who));
      await send(on(who, parts));
      await send(on(who, parts), on(`${who}-other`));
      await subject.store.peek([on(who, parts)]);
      const { blocked, retryAfterMs } = await send(on(who));
      expect(blocked).toBe(true);
      expect(retryAfterMs).toBeGreaterThan(890_000);
    });
  });
});
