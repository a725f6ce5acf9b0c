import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision } from '../../src/core/counters/decide.js';
import { renewLua } from '../../src/store/redis/lua.generated.js';
import { type Answer, callMixed, type KeyedCheck, type MixedRequest } from '../support/mixed-script.js';
import { keysOf } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { runScript } from '../support/run-script.js';

const LIFE_MS = 15_000;
const HOUR = 3_600_000;

describe('leases in lua/consume-mixed.lua and lua/renew.lua', () => {
  const suite = redisSuite();
  let serial = 0;

  const at = (label: string, window = 'leases'): string => `${suite.namespace}:${label}:${window}:x`;
  const id = (): string => `lease-${++serial}`;

  function lease(parts: Partial<KeyedCheck> = {}): KeyedCheck {
    return {
      key: at('a'),
      kind: { type: 'concurrency' },
      windowMs: LIFE_MS,
      limit: 2,
      cost: 1,
      lease: id(),
      countDenied: false,
      shadow: false,
      block: undefined,
      ...parts,
    };
  }

  const rate = (parts: Partial<KeyedCheck> = {}): KeyedCheck =>
    lease({
      key: at('rate', '15000s'),
      kind: { type: 'sliding-window' },
      limit: 100,
      lease: undefined,
      ...parts,
    });
  const consumeOf = (...checks: KeyedCheck[]): MixedRequest => ({ type: 'consume', checks });
  const call = (...requests: MixedRequest[]): Promise<Answer[]> => callMixed(suite.client, requests);

  async function take(...checks: KeyedCheck[]): Promise<readonly Decision[]> {
    const [answer] = await call(consumeOf(...checks));
    if (typeof answer === 'string') throw new Error(answer);
    return answer!;
  }

  const release = (check: KeyedCheck): Promise<Answer[]> =>
    call({ type: 'settle', check, token: 0, cost: 0 });
  const held = (key = at('a')): Promise<string[]> => suite.client.zrange(key, '0', '-1');

  function renew(...checks: KeyedCheck[]): Promise<(number | string)[]> {
    const keys = [...new Set(checks.map(({ key }) => key))];
    const args = keys.flatMap((key) => {
      const ids = checks.flatMap((check) => (check.key === key ? [check.lease] : []));
      return [LIFE_MS, ids.length, ...ids];
    });
    return runScript(suite.client, renewLua, keys, [JSON.stringify(args)]);
  }

  async function serverMs(): Promise<number> {
    const [seconds, micros] = await suite.client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** Puts a lease into a key as another process would have done some time ago. */
  async function put(lapsesInMs: number, name = id(), key = at('a')): Promise<string> {
    await suite.client.zadd(key, String((await serverMs()) + lapsesInMs), name);
    await suite.client.pexpire(key, LIFE_MS);
    return name;
  }

  it('takes leases up to the limit, and keeps the key as long as the last one', async () => {
    const [one, two] = [lease(), lease()];
    expect(await take(one)).toMatchObject([{ allowed: true, used: 1, resetAfterMs: 1_000, retryAfterMs: 0 }]);
    await sleep(20);
    expect(await take(two)).toMatchObject([{ allowed: true, used: 2 }]);
    expect(await take(lease())).toMatchObject([
      { allowed: false, used: 2, resetAfterMs: 1_000, retryAfterMs: 1_000, token: undefined },
    ]);
    expect(await held()).toEqual([one.lease, two.lease]);
    const left = await suite.client.pttl(at('a'));
    expect(left).toBeLessThanOrEqual(LIFE_MS);
    expect(left).toBeGreaterThan(LIFE_MS - 1_000);
    const [first, last] = await Promise.all(
      [one, two].map((check) => suite.client.zscore(at('a'), check.lease!)),
    );
    expect(Number(last) - Number(first)).toBeGreaterThanOrEqual(20);
  });

  it('leaves no trace of a request that it or another check denies, or of a peek', async () => {
    const first = lease();
    await take(first);
    const shut = rate({ key: at('shut'), limit: 0 });
    expect(await take(lease(), lease({ key: at('new') }), shut)).toMatchObject([
      { allowed: true, used: 1 },
      { allowed: true, used: 0, resetAfterMs: 0 },
      { allowed: false },
    ]);
    expect(await take(rate(), lease({ limit: 1 }))).toMatchObject([{ used: 0 }, { allowed: false }]);
    await call({ type: 'peek', checks: [lease(), lease({ key: at('new') })] });
    expect(await held()).toEqual([first.lease]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([at('a')]);
  });

  it('takes leases together with counters of other kinds, in one step', async () => {
    const fixed = rate({ key: at('fixed', '3600000'), kind: { type: 'fixed-window' }, windowMs: HOUR });
    const bucket = rate({
      key: at('bucket', '3600000b'),
      kind: { type: 'token-bucket', burst: 5 },
      windowMs: HOUR,
    });
    const [mine, other] = [lease(), lease({ key: at('b') })];
    const results = await take(fixed, mine, rate(), other, bucket);
    expect(results.map(({ used }) => used)).toEqual([1, 1, 1, 1, 1]);
    expect([await held(), await held(at('b'))]).toEqual([[mine.lease], [other.lease]]);
  });

  it('gives each of several requests in one call its own lease, in the order of arrival', async () => {
    const all = [lease(), lease(), lease(), lease()];
    const answers = await call(...all.map((check) => consumeOf(rate(), check)));
    expect(answers.map((answer) => (answer as readonly Decision[])[1])).toMatchObject([
      { allowed: true, used: 1 },
      { allowed: true, used: 2 },
      { allowed: false, used: 2 },
      { allowed: false, used: 2 },
    ]);
    expect((await held()).sort()).toEqual([all[0]!.lease, all[1]!.lease].sort());
    expect(await take(rate({ cost: 0 }))).toMatchObject([{ used: 2 }]);
  });

  it('does not mix up the leases of denied, peeking and reading requests with those of others', async () => {
    const shut = rate({ key: at('shut'), limit: 0 });
    const [denied, taken, second] = [lease(), lease(), lease({ key: at('b') })];
    await call(
      consumeOf(denied, shut),
      { type: 'peek', checks: [lease()] },
      consumeOf(lease({ cost: 0 })),
      consumeOf(taken, second),
      consumeOf(lease(), lease({ key: at('b'), limit: 1 })),
    );
    expect([await held(), await held(at('b'))]).toEqual([[taken.lease], [second.lease]]);
  });

  it('takes no lease for a shadow rule that would deny, and lets its request pass', async () => {
    await take(lease(), lease());
    expect(await take(lease({ shadow: true }), rate())).toMatchObject([
      { allowed: false, used: 2, retryAfterMs: 1_000 },
      { allowed: true, used: 1 },
    ]);
    expect(await held()).toHaveLength(2);
    const shadow = lease({ key: at('b'), shadow: true });
    await take(shadow);
    expect(await held(at('b'))).toEqual([shadow.lease]);
  });

  it('releases a lease by its id, once, and deletes a key without leases', async () => {
    const [one, two] = [lease(), lease()];
    await take(one, two);
    const left = await suite.client.pttl(at('a'));
    for (let i = 0; i < 2; i++)
      expect(await release(one)).toMatchObject([[{ used: 1, resetAfterMs: 1_000 }]]);
    expect(await held()).toEqual([two.lease]);
    expect(await suite.client.pttl(at('a'))).toBeLessThanOrEqual(left);
    expect(await release(two)).toMatchObject([[{ used: 0, resetAfterMs: 0 }]]);
    expect(await suite.client.exists(at('a'))).toBe(0);
    expect(await release(two)).toMatchObject([[{ used: 0 }]]);
    expect(await suite.client.exists(at('a'))).toBe(0);
  });

  it('releases several leases in one call, also of several counters', async () => {
    const all = [lease(), lease({ key: at('b') }), lease()];
    await take(...all);
    const answers = await call(
      ...all.map((check): MixedRequest => ({ type: 'settle', check, token: 0, cost: 0 })),
    );
    expect(answers).toMatchObject([[{ used: 1 }], [{ used: 0 }], [{ used: 0 }]]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it('counts no lapsed lease, and removes it when another one is taken', async () => {
    await put(-1);
    const live = await put(LIFE_MS);
    expect(await take(lease({ cost: 0 }))).toMatchObject([{ used: 1 }]);
    const mine = lease();
    expect(await take(mine)).toMatchObject([{ allowed: true, used: 2 }]);
    expect((await held()).sort()).toEqual([live, mine.lease].sort());
    expect(await suite.client.pttl(at('a'))).toBeLessThanOrEqual(LIFE_MS);
  });

  it('releases nothing but its own lease after that has lapsed', async () => {
    const [live, lapsed] = [await put(LIFE_MS), lease()];
    await put(-1, lapsed.lease);
    expect(await release(lapsed)).toMatchObject([[{ used: 1 }]]);
    expect(await held()).toEqual([live]);
  });

  it('gives a lease from the future the life of one of now when it denies', async () => {
    const mine = lease();
    await put(HOUR, 'future');
    await put(HOUR, mine.lease);
    expect(await take(lease())).toMatchObject([{ allowed: false, used: 2 }]);
    for (const name of ['future', mine.lease!]) {
      const left = Number(await suite.client.zscore(at('a'), name)) - (await serverMs());
      expect(left).toBeLessThanOrEqual(LIFE_MS);
      expect(left).toBeGreaterThan(LIFE_MS - 1_000);
    }
    expect(await suite.client.pttl(at('a'))).toBeLessThanOrEqual(LIFE_MS);
    await put(HOUR, 'future');
    expect(await release(mine)).toMatchObject([[{ used: 1 }]]);
    expect(await held()).toEqual(['future']);
  });

  it('returns an error for a key of another type to the request that uses it only', async () => {
    await suite.client.set(at('a'), '5', 'PX', HOUR);
    const good = lease({ key: at('good') });
    const answers = await call(consumeOf(rate(), lease()), consumeOf(good), {
      type: 'peek',
      checks: [lease()],
    });
    expect(answers[0]).toMatch(/^WRONGTYPE/);
    expect(answers[1]).toMatchObject([{ allowed: true, used: 1 }]);
    expect(answers[2]).toBe(answers[0]);
    expect(await held(at('good'))).toEqual([good.lease]);
    expect(await suite.client.exists(at('rate', '15000s'))).toBe(0);
    expect((await release(lease()))[0]).toBe(answers[0]);
    expect(await suite.client.get(at('a'))).toBe('5');
  });

  describe('renewed', () => {
    it('have their full life again', async () => {
      const [one, two] = [lease(), lease({ key: at('b') })];
      await put(5, one.lease);
      await put(5, two.lease, at('b'));
      expect(await renew(one, two)).toEqual([1, 1]);
      for (const { key, lease: name } of [one, two]) {
        const left = Number(await suite.client.zscore(key, name!)) - (await serverMs());
        expect(left).toBeGreaterThan(LIFE_MS - 1_000);
        expect(await suite.client.pttl(key)).toBeLessThanOrEqual(LIFE_MS);
        expect(await suite.client.pttl(key)).toBeGreaterThan(LIFE_MS - 1_000);
      }
    });

    it('count again if they have lapsed or were released, also above the limit', async () => {
      const [lapsed, lost] = [lease(), lease()];
      await take(lease(), lease());
      await put(-1, lapsed.lease);
      expect(await renew(lapsed, lost)).toEqual([0, 0]);
      expect(await take(lease())).toMatchObject([{ allowed: false, used: 4 }]);
      expect(await renew(lapsed, lost)).toEqual([1, 1]);
    });

    it('remove the lapsed leases of others', async () => {
      const [mine] = [lease()];
      await take(mine);
      await put(-1);
      await renew(mine);
      expect(await held()).toEqual([mine.lease]);
    });

    it('give their expiry back to keys that have lost it', async () => {
      const mine = lease();
      await take(mine);
      await suite.client.persist(at('a'));
      await renew(mine);
      expect(await suite.client.pttl(at('a'))).toBeGreaterThan(0);
    });

    it('are not written to a key of another type, and the others are renewed', async () => {
      await suite.client.set(at('a'), '5', 'PX', HOUR);
      const good = lease({ key: at('good') });
      expect(await renew(lease(), lease(), good)).toEqual([
        expect.stringMatching(/^WRONGTYPE/),
        expect.stringMatching(/^WRONGTYPE/),
        0,
      ]);
      expect(await suite.client.get(at('a'))).toBe('5');
    });
  });
});
