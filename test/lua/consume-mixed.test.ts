import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Block, CounterKind } from '../../src/core/counter-kind.js';
import type { Decision } from '../../src/core/counters/decide.js';
import { consumeMixedLua } from '../../src/store/redis/lua.generated.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from '../support/check.js';
import { quiet } from '../support/subjects.js';
import { type Answer, callMixed, type KeyedCheck, type MixedRequest } from '../support/mixed-script.js';
import { watchCommands } from '../support/monitor.js';
import { keysOf, plainClient, redisUrl, uniqueNamespace } from '../support/redis.js';

const HOUR = 3_600_000;
const MAX = Number.MAX_SAFE_INTEGER;
const LADDER: Block = { stepsMs: [60_000, 120_000], forgiveAfterMs: HOUR };
const NOT_A_COUNTER = 'ERR value is not an integer or out of range';

const KINDS = ['fixed-window', 'calendar', 'sliding-window', 'token-bucket'] as const;
type Type = (typeof KINDS)[number];

function kindOf(type: Type): CounterKind {
  if (type === 'token-bucket') return { type, burst: 3 };
  if (type !== 'calendar') return { type };
  const startsAtMs = Math.floor(Date.now() / HOUR) * HOUR;
  return { type, startsAtMs, endsAtMs: startsAtMs + HOUR, nextEndsAtMs: startsAtMs + 2 * HOUR };
}

function doubles(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(8 * numbers.length);
  numbers.forEach((number, i) => bytes.writeDoubleLE(number, 8 * i));
  return bytes;
}

describe('lua/consume-mixed.lua', () => {
  let client: Redis;
  let namespace: string;

  beforeAll(() => {
    client = plainClient();
  });
  beforeEach(() => {
    namespace = uniqueNamespace();
  });
  afterEach(async () => {
    const keys = await keysOf(client, namespace);
    const immortal = [];
    for (const key of keys) if ((await client.pttl(key)) === -1) immortal.push(key);
    if (keys.length > 0) await client.del(...keys);
    expect(immortal).toEqual([]);
  });
  afterAll(() => client.quit());

  const at = (label: string): string => `${namespace}:${label}`;

  function checkOf(type: Type, parts: Partial<KeyedCheck> = {}): KeyedCheck {
    return {
      key: at('a'),
      kind: kindOf(type),
      windowMs: HOUR,
      limit: 3,
      cost: 1,
      countDenied: false,
      shadow: false,
      block: undefined,
      ...parts,
    };
  }

  async function consume(...checks: KeyedCheck[]): Promise<Answer> {
    const [answer] = await callMixed(client, [{ type: 'consume', checks }]);
    return answer!;
  }

  async function one(check: KeyedCheck): Promise<Decision> {
    const answer = await consume(check);
    if (typeof answer === 'string') throw new Error(answer);
    return answer[0]!;
  }

  async function dump(): Promise<unknown> {
    const keys = (await keysOf(client, namespace)).sort();
    return Promise.all(
      keys.map(async (key) => [key, await client.getBuffer(key).catch(() => 'another type')]),
    );
  }

  async function serverMs(): Promise<number> {
    const [seconds, micros] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  it('is embedded in the package', () => {
    expect(consumeMixedLua).toBe(
      readFileSync(new URL('../../lua/consume-mixed.lua', import.meta.url), 'utf8'),
    );
  });

  describe.each(KINDS)('with a counter of kind %s', (type) => {
    it('counts to the limit, and expires when the counter is as new', async () => {
      for (const used of [1, 2, 3]) {
        const result = await one(checkOf(type));
        expect(result).toMatchObject({ allowed: true, used, retryAfterMs: 0 });
        expect(result.resetAfterMs).toBeGreaterThan(0);
        const left = await client.pttl(at('a'));
        expect(left).toBeLessThanOrEqual(result.resetAfterMs + 1);
        expect(left).toBeGreaterThan(result.resetAfterMs - 1_000);
      }
      const denied = await one(checkOf(type));
      expect(denied).toMatchObject({ allowed: false, used: 3, isBlocked: false, token: undefined });
      expect(denied.retryAfterMs).toBeGreaterThan(0);
    });

    it('leaves no trace of a request that it or another check denies, or of a peek', async () => {
      await consume(checkOf(type, { cost: 2 }));
      const before = await dump();
      await consume(checkOf(type, { cost: 2 }));
      await consume(
        checkOf(type),
        checkOf(type, { key: at('new') }),
        checkOf('fixed-window', { key: at('shut'), limit: 0 }),
      );
      await callMixed(client, [{ type: 'peek', checks: [checkOf(type), checkOf(type, { key: at('new') })] }]);
      expect(await dump()).toEqual(before);
    });

    it('charges denied requests if they count', async () => {
      for (let i = 0; i < 5; i++) await consume(checkOf(type, { countDenied: true }));
      const result = await one(checkOf(type, { cost: 0 }));
      expect(result.used).toBe(type === 'token-bucket' ? 3 : 5);
    });

    it('decides requests in the order of arrival', async () => {
      const other = checkOf('fixed-window', { key: at('other'), limit: 100 });
      const requests: MixedRequest[] = [1, 2, 3].map((cost) => ({
        type: 'consume',
        checks: [checkOf(type, { cost }), other],
      }));
      requests.splice(1, 0, { type: 'peek', checks: [checkOf(type)] });
      const answers = await callMixed(client, requests);
      expect(
        answers.map((answer) => (answer as readonly Decision[]).map(({ used, allowed }) => [used, allowed])),
      ).toEqual([
        [
          [1, true],
          [1, true],
        ],
        [[1, true]],
        [
          [3, true],
          [2, true],
        ],
        [
          [3, false],
          [2, true],
        ],
      ]);
    });

    it('refunds what it has charged, and deletes a counter that is empty', async () => {
      const first = await one(checkOf(type));
      await consume(checkOf(type));
      const give = async (): Promise<Answer> => {
        const [answer] = await callMixed(client, [
          { type: 'settle', check: checkOf(type), token: first.token!, cost: 0 },
        ]);
        return answer!;
      };
      expect(await give()).toMatchObject([{ used: 1 }]);
      expect(await client.pttl(at('a'))).toBeGreaterThan(0);
      await give();
      const [left] = (await give()) as readonly [Decision];
      // of a bucket, all but what has flowed in meanwhile
      const flow = type === 'token-bucket' ? { used: 1, resetAfterMs: 1_000 } : { used: 0, resetAfterMs: 0 };
      expect(left.used).toBeLessThanOrEqual(flow.used);
      expect(left.resetAfterMs).toBeLessThanOrEqual(flow.resetAfterMs);
      const isLeft = type !== 'token-bucket' && (await client.exists(at('a'))) === 1;
      expect(isLeft).toBe(false);
    });

    it('blocks a client that exceeds the limit until the end of the step, and remembers the offence', async () => {
      const check = checkOf(type, { block: LADDER, windowMs: 30_000 });
      for (let i = 0; i < 3; i++) await consume(check);
      const crossing = await one(check);
      const length = type === 'calendar' ? crossing.retryAfterMs : 60_000;
      expect(crossing).toMatchObject({ allowed: false, isBlocked: true, used: 3, retryAfterMs: length });
      expect(await client.get(at('a'))).toMatch(/^4\d{18}$/);
      expect(await client.pttl(at('a'))).toBeGreaterThan(length - 1_000);
      expect(await client.get(`${at('a')}!offences`)).toBe('1');
      expect(await client.pttl(`${at('a')}!offences`)).toBeGreaterThan(length + HOUR - 1_000);
      const before = await dump();
      await consume({ ...check, countDenied: true });
      await callMixed(client, [{ type: 'settle', check, token: await serverMs(), cost: 0 }]);
      expect(await dump()).toEqual(before);
      await client.del(at('a'));
      for (let i = 0; i < 3; i++) await consume(check);
      const again = await one(check);
      expect(again.retryAfterMs).toBeGreaterThanOrEqual(120_000 - 1_000);
      expect(await client.get(`${at('a')}!offences`)).toBe('2');
    });

    it('needs no second key for a block with one step', async () => {
      const check = checkOf(type, { block: { stepsMs: [HOUR], forgiveAfterMs: 1 } });
      for (let i = 0; i < 3; i++) await consume(check);
      expect(await consume(check)).toMatchObject([{ isBlocked: true }]);
      expect(await keysOf(client, namespace)).toEqual([at('a')]);
    });

    it.each([
      ['a list', (key: string) => client.lpush(key, 'x')],
      ['a hash', (key: string) => client.hset(key, 'x', 1)],
      ['a word', (key: string) => client.set(key, 'abc')],
      ['an empty text', (key: string) => client.set(key, '')],
      ['a fraction', (key: string) => client.set(key, '1.5')],
      ['19 characters', (key: string) => client.set(key, '4'.padEnd(19, 'x'))],
      ['10 kB', (key: string) => client.set(key, 'x'.repeat(10_000))],
      ['16 bytes that are not numbers', (key: string) => client.set(key, doubles(NaN, NaN))],
      ['24 bytes that are not numbers', (key: string) => client.set(key, doubles(NaN, NaN, NaN))],
      [
        '152 bytes that are not numbers',
        (key: string) => client.set(key, doubles(...new Array<number>(19).fill(NaN))),
      ],
      ['16 bytes of negative numbers', (key: string) => client.set(key, doubles(-1, Date.now() + HOUR))],
      ['24 bytes of negative numbers', (key: string) => client.set(key, doubles(Date.now() - 1, -5, 0))],
      [
        '152 bytes of negative numbers',
        (key: string) => client.set(key, doubles(-5, ...new Array<number>(18).fill(1))),
      ],
      ['16 bytes of endless numbers', (key: string) => client.set(key, doubles(Infinity, Infinity))],
      ['24 bytes of endless numbers', (key: string) => client.set(key, doubles(Date.now() - 1, Infinity, 0))],
      [
        '152 bytes of endless numbers',
        (key: string) => client.set(key, doubles(...new Array<number>(19).fill(Infinity))),
      ],
      ['16 bytes of fractions', (key: string) => client.set(key, doubles(1.5, Date.now() + HOUR))],
      ['24 bytes of fractions', (key: string) => client.set(key, doubles(Date.now() - 1, 1.5, 0))],
      [
        '152 bytes of fractions',
        (key: string) => {
          const totals = new Array<number>(17).fill(2.5);
          return client.set(key, doubles(Math.floor((Date.now() * 16) / HOUR), ...totals, 0));
        },
      ],
      ['a state that is cut off', (key: string) => client.set(key, doubles(1, 2, 3).subarray(0, 23))],
    ])('returns an error for %s to the request that uses it, and charges nothing of it', async (_, spoil) => {
      await spoil(at('bad'));
      await client.pexpire(at('bad'), HOUR);
      const before = await dump();
      const good = checkOf(type, { key: at('good') });
      const bad = checkOf(type, { key: at('bad'), countDenied: true, block: LADDER });
      const answers = await callMixed(client, [
        { type: 'consume', checks: [checkOf(type), bad, checkOf(type, { countDenied: true })] },
        { type: 'consume', checks: [good] },
        { type: 'peek', checks: [bad] },
      ]);
      expect([answers[0], answers[2]]).toEqual([answers[0], answers[0]]);
      expect(answers[0]).toMatch(/^(WRONGTYPE|ERR value is not an integer)/);
      expect(answers[1]).toMatchObject([{ allowed: true, used: 1 }]);
      expect(await client.exists(at('a'))).toBe(0);
      await client.del(at('good'));
      expect(await dump()).toEqual(before);
    });

    it('begins no block by a request with a key that is not a counter', async () => {
      await client.set(at('bad'), 'abc', 'PX', HOUR);
      const check = checkOf(type, { block: LADDER });
      for (let i = 0; i < 3; i++) await consume(check);
      expect(await consume(check, checkOf('fixed-window', { key: at('bad') }))).toBe(NOT_A_COUNTER);
      expect(await consume({ ...check, cost: 0 })).toMatchObject([{ allowed: true, used: 3 }]);
      expect(await keysOf(client, namespace)).toHaveLength(2);
    });

    it('counts a window of a millisecond and the longest one', async () => {
      for (const windowMs of [1, MAX]) {
        const check = checkOf(type, { key: at(String(windowMs)), windowMs, block: LADDER });
        for (let i = 0; i < 5; i++) expect(await consume(check)).toHaveLength(1);
      }
    });

    it('stops at 2^53 - 1', async () => {
      const free = checkOf(type, {
        limit: type === 'token-bucket' ? 3 : Infinity,
        cost: 2 ** 52,
        ...(type === 'token-bucket' && { kind: { type, burst: Infinity } }),
      });
      const seen: number[] = [];
      for (let i = 0; i < 4; i++) seen.push((await one(free)).used);
      expect(seen).toEqual([2 ** 52, MAX, MAX, MAX]);
      expect(
        await consume(
          checkOf(type, {
            limit: MAX,
            ...(type === 'token-bucket' && { limit: 3, kind: { type, burst: MAX } }),
          }),
        ),
      ).toMatchObject([{ allowed: false, used: MAX }]);
    });

    it('counts a state from the future as one of now', async () => {
      const now = await serverMs();
      const later = now + 1_000 * HOUR;
      const states: Record<Type, string | Buffer> = {
        'fixed-window': '3',
        calendar: doubles(3, later),
        'sliding-window': doubles(Math.floor((later * 16) / HOUR), ...new Array<number>(17).fill(3), 0),
        'token-bucket': doubles(later, 3, 0),
      };
      await client.set(at('a'), states[type], 'PX', 1_001 * HOUR);
      const [peeked] = await callMixed(client, [{ type: 'peek', checks: [checkOf(type)] }]);
      expect(peeked).toMatchObject([{ allowed: false, used: 3 }]);
      const [{ resetAfterMs, retryAfterMs }] = peeked as readonly [Decision];
      expect(resetAfterMs).toBeLessThanOrEqual((HOUR / 16) * 18);
      expect(retryAfterMs).toBeLessThanOrEqual((HOUR / 16) * 18);
      expect(await client.pttl(at('a'))).toBeLessThanOrEqual((HOUR / 16) * 18);
      // it ages from now on
      await sleep(5);
      const second = await one(checkOf(type));
      expect(second.resetAfterMs).toBeLessThan(resetAfterMs);
    });

    it('ends a block that is too long because the clock was set back', async () => {
      await client.set(
        at('a'),
        `4${String((await serverMs()) + 1_000 * HOUR).padStart(18, '0')}`,
        'PX',
        1_000 * HOUR,
      );
      const result = await one(checkOf(type, { block: LADDER }));
      expect(result).toMatchObject({ allowed: false, isBlocked: true });
      expect(result.retryAfterMs).toBeLessThanOrEqual(2 * HOUR);
      expect(await client.pttl(at('a'))).toBeLessThanOrEqual(2 * HOUR);
    });

    it('treats offences that are not a number as none', async () => {
      await client.lpush(`${at('a')}!offences`, 'x');
      const check = checkOf(type, { windowMs: 1_000, block: LADDER });
      for (let i = 0; i < 3; i++) await consume(check);
      const { retryAfterMs } = await one(check);
      expect(retryAfterMs).toBeLessThanOrEqual(type === 'calendar' ? HOUR : 60_000);
      expect(await client.get(`${at('a')}!offences`)).toBe('1');
    });
  });

  describe('a fixed window', () => {
    // a store that knows no other kind calls consume.lua
    let store: RedisStore;

    beforeAll(async () => {
      const options = { redis: redisUrl(), namespace: 'unused', timeoutMs: 5_000, coalesce: true };
      store = await RedisStore.create({ ...options, placement: undefined }, quiet);
    });
    afterAll(() => store.close());

    const plain = async (limit = 3): Promise<unknown> =>
      store.consume([check(at('a'), { windowMs: HOUR, limit })]);

    it('is the same counter for both scripts', async () => {
      await consume(checkOf('fixed-window'));
      expect(await plain()).toMatchObject([{ allowed: true, used: 2 }]);
      expect(await consume(checkOf('fixed-window'))).toMatchObject([{ allowed: true, used: 3 }]);
      expect(await plain()).toMatchObject([{ allowed: false, used: 3 }]);
      expect(await client.get(at('a'))).toBe('3');
    });

    it.each(['-5', '0'])('of %s is not a counter', async (value) => {
      await client.set(at('a'), value);
      expect(await consume(checkOf('fixed-window'))).toMatchObject([{ used: 1, resetAfterMs: HOUR }]);
    });

    it('gets its window if it has no expiry, or one after its window', async () => {
      for (const [label, ms] of [
        ['none', undefined],
        ['long', 10 * HOUR],
      ] as const) {
        await client.set(at(label), 2);
        if (ms !== undefined) await client.pexpire(at(label), ms);
        const check = checkOf('fixed-window', { key: at(label) });
        await callMixed(client, [{ type: 'peek', checks: [check] }]);
        expect(await client.pttl(at(label))).toBeGreaterThan(HOUR - 1_000);
        expect(await client.pttl(at(label))).toBeLessThanOrEqual(HOUR);
        expect(await consume(check)).toMatchObject([{ used: 3 }]);
        expect(await consume(check)).toMatchObject([{ allowed: false }]);
      }
    });

    it('of a number that is too large denies everything with a limit', async () => {
      await client.set(at('a'), '99999999999999999999', 'PX', HOUR);
      expect(await consume(checkOf('fixed-window', { limit: MAX }))).toMatchObject([
        { allowed: false, used: MAX },
      ]);
      expect(await consume(checkOf('fixed-window', { limit: Infinity }))).toMatchObject([
        { allowed: true, used: MAX },
      ]);
      expect(await client.get(at('a'))).toBe('99999999999999999999');
    });

    it('that is blocked is over its limit for consume.lua', async () => {
      for (let i = 0; i < 2; i++) await consume(checkOf('fixed-window', { limit: 1, block: LADDER }));
      const blocked = await client.get(at('a'));
      expect(await plain(MAX)).toMatchObject([{ allowed: false, used: MAX }]);
      expect(await client.get(at('a'))).toBe(blocked);
      expect(await client.pttl(at('a'))).toBeGreaterThan(0);
    });
  });

  it('moves a calendar window on when its period ends, by the server’s clock', async () => {
    const endsAtMs = (await serverMs()) + 60;
    const kind = {
      type: 'calendar',
      startsAtMs: endsAtMs - 100,
      endsAtMs,
      nextEndsAtMs: endsAtMs + HOUR,
    } as const;
    const check = checkOf('calendar', { kind, limit: 1 });
    expect(await consume(check)).toMatchObject([{ allowed: true, used: 1 }]);
    const denied = await one(check);
    expect(denied.retryAfterMs).toBeLessThanOrEqual(60);
    await sleep(denied.retryAfterMs + 5);
    const next = await one(check);
    expect(next.allowed).toBe(true);
    expect(next.resetAfterMs).toBeGreaterThan(HOUR - 1_000);
  });

  it('reads a bucket that nothing flows into', async () => {
    const bucket = checkOf('token-bucket', { limit: 0 });
    expect(await one({ ...bucket, cost: 0 })).toMatchObject({ allowed: true, used: 0, resetAfterMs: 0 });
    expect(await one(bucket)).toMatchObject({ allowed: false, used: 0, retryAfterMs: HOUR });
  });

  it('refunds only the sub-window of a sliding window that was charged', async () => {
    const own = checkOf('sliding-window', { windowMs: 1_600, limit: 9 });
    const { token } = await one({ ...own, cost: 2 });
    await sleep(110);
    await one({ ...own, cost: 3 });
    const [answer] = await callMixed(client, [
      { type: 'settle', check: { ...own, cost: 9 }, token: token!, cost: 0 },
    ]);
    expect(answer).toMatchObject([{ used: 3 }]);
  });

  it('never lets more than the limit of a sliding window pass in its length, in real time', async () => {
    const check = checkOf('sliding-window', { windowMs: 80, limit: 5 });
    const passed: { before: number; after: number }[] = [];
    const until = (await serverMs()) + 800;
    for (let before = 0; before < until;) {
      before = await serverMs();
      const result = await one(check);
      if (result.allowed) passed.push({ before, after: await serverMs() });
    }
    expect(passed.length).toBeGreaterThan(30);
    passed.slice(5).forEach(({ after }, i) => expect(after - passed[i]!.before).toBeGreaterThan(80));
  });

  it('asks for the time once, and for nothing that it does not need', async () => {
    const checks = [1, 2, 3].map((i) =>
      checkOf('sliding-window', { key: at(String(i)), windowMs: 1_000_000 * HOUR }),
    );
    await consume(...checks);
    const commands: string[] = [];
    const stop = await watchCommands(redisUrl(), ({ args: [name = '', key = ''], isFromScript }) => {
      if (isFromScript && (key === '' || key.startsWith(namespace))) commands.push(name.toUpperCase());
    });
    await consume(...checks);
    await client.echo('done');
    stop();
    const set = ['TIME', 'GET', 'GET', 'GET', 'SETRANGE', 'SETRANGE', 'SETRANGE'];
    // another script may have called TIME meanwhile
    expect(commands.filter((name, at) => name !== 'TIME' || at === 0)).toEqual(set);
  });
});
