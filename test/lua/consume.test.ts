import { readFileSync } from 'node:fs';
import { consumeLua } from '../../src/store/redis/lua.generated.js';
import { keysOf } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { runScript } from '../support/run-script.js';

type Row = readonly [label: string, window: number, limit: number, cost: number, countDenied?: 0 | 1];

const CHARGE = 1;
const PEEK = 0;
const NO_LIMIT = -1;

describe('lua/consume.lua', () => {
  const suite = redisSuite();

  const at = (label: string, window: number): string => `${suite.namespace}:${label}:${window}:x`;

  /** One request: used and left of each check, -left - 1 if it denies. The checks of a peek deny nothing. */
  async function run(mode: 0 | 1, ...rows: Row[]): Promise<(number | string)[]> {
    const checks = rows.map(([label, window, limit, cost, countDenied = 0]) => ({
      label,
      window,
      limit: mode === CHARGE ? limit : NO_LIMIT,
      cost: mode === CHARGE ? cost : 0,
      countDenied,
    }));
    const keys = checks.map(({ label, window }) => at(label, window));
    const text = checks.map(
      ({ limit, cost, countDenied }, i) => `-${i + 1},${limit},${countDenied ? '-' : ''}${cost},`,
    );
    const runs = checks.flatMap(({ window, limit, cost }) => [window, limit, cost, 1]);
    const [, ...reply] = await consume(keys, `${text.join('')}0,`, runs);
    return reply;
  }

  function consume(
    keys: readonly string[],
    requests: string,
    runs: readonly number[],
  ): Promise<(number | string)[]> {
    return runScript(suite.client, consumeLua, keys, [JSON.stringify([requests, ...runs])]);
  }

  /** Every key with its value and its expiry, to the millisecond. */
  async function dump(): Promise<unknown> {
    const keys = (await keysOf(suite.client, suite.namespace)).sort();
    return Promise.all(
      keys.map(async (key) => [
        key,
        await suite.client.get(key),
        await suite.client.call('PEXPIRETIME', key).catch(() => 0),
      ]),
    );
  }

  it('is embedded in the package', () => {
    expect(consumeLua).toBe(readFileSync(new URL('../../lua/consume.lua', import.meta.url), 'utf8'));
  });

  it('returns used and the time left, and -left - 1 if a check denies', async () => {
    expect(await run(CHARGE, ['a', 60_000, 2, 1])).toEqual([1, 60_000]);
    const [used, left] = await run(CHARGE, ['a', 60_000, 2, 1]);
    expect(used).toBe(2);
    expect(left).toBeGreaterThan(59_000);
    const [still, denied] = await run(CHARGE, ['a', 60_000, 2, 1]);
    expect(still).toBe(2);
    expect(denied).toBeLessThan(-59_000);
  });

  it.each<[string, Row, number[]]>([
    ['a first request', ['n', 1_000, 1, 1], [1, 1_000]],
    ['a first request that costs more than the limit', ['n', 1_000, 1, 2], [0, -1]],
    ['a limit of 0', ['n', 1_000, 0, 1], [0, -1]],
    ['a cost of 0 with a limit of 0', ['n', 1_000, 0, 0], [0, 0]],
    ['no limit', ['n', 1_000, NO_LIMIT, 7], [7, 1_000]],
    ['a window of a millisecond', ['n', 1, 1, 1], [1, 1]],
    ['the longest window', ['n', Number.MAX_SAFE_INTEGER, 1, 1], [1, Number.MAX_SAFE_INTEGER]],
  ])('decides %s', async (_, row, reply) => {
    expect(await run(CHARGE, row)).toEqual(reply);
  });

  it('leaves no trace of a denied request', async () => {
    await run(CHARGE, ['day', 86_400_000, 10, 1], ['minute', 60_000, 1, 1]);
    const before = await dump();
    for (let i = 0; i < 5; i++) {
      await run(CHARGE, ['day', 86_400_000, 10, 1], ['new', 60_000, 5, 1], ['minute', 60_000, 1, 1]);
    }
    expect(await dump()).toEqual(before);
  });

  it('leaves no trace of a peek', async () => {
    await run(CHARGE, ['a', 60_000, 3, 2]);
    const before = await dump();
    const [used, left, ...other] = await run(PEEK, ['a', 60_000, 3, 1], ['b', 60_000, 3, 1]);
    expect(used).toBe(2);
    expect(left).toBeGreaterThan(59_000);
    expect(other).toEqual([0, 0]);
    expect(await dump()).toEqual(before);
  });

  describe.each([
    ['a charge', CHARGE, 0],
    ['a charge with countDenied', CHARGE, 1],
    ['a peek', PEEK, 0],
  ] as const)('with %s', (_, mode, countDenied) => {
    it('gives a counter at its limit without an expiry its window', async () => {
      await suite.client.set(at('old', 10_000), 999);
      const [, left] = await run(mode, ['old', 10_000, 3, 1, countDenied]);
      expect(left).toBe(mode === CHARGE ? -10_001 : 10_000);
      expect(await suite.client.pttl(at('old', 10_000))).toBeGreaterThan(9_000);
    });

    it('gives a counter under its limit without an expiry its window, and counts on from its value', async () => {
      await suite.client.set(at('old', 10_000), 2);
      expect(await run(mode, ['old', 10_000, 3, 1, countDenied])).toEqual([mode === CHARGE ? 3 : 2, 10_000]);
      expect((await run(CHARGE, ['old', 10_000, 3, mode === CHARGE ? 1 : 2, countDenied]))[1]).toBeLessThan(
        0,
      );
    });

    it('says that a counter is blocked, and changes nothing about it', async () => {
      const ends = Date.now() + 90_000;
      await suite.client.set(at('blocked', 10_000), `400000${ends}`, 'PX', 90_000);
      const before = await dump();
      const [used, left] = await run(mode, ['blocked', 10_000, 3, 1, countDenied]);
      expect(used).toBe(-1);
      expect(mode === CHARGE ? -Number(left) : left).toBeGreaterThan(89_000);
      expect(await dump()).toEqual(before);
    });

    it('decides the other checks of a request with a blocked counter', async () => {
      await suite.client.set(at('blocked', 10_000), `400000${Date.now() + 5_000}`, 'PX', 5_000);
      await run(CHARGE, ['other', 10_000, 3, 2]);
      const before = await dump();
      const rows: Row[] = [
        ['other', 10_000, 3, 1, countDenied],
        ['blocked', 10_000, NO_LIMIT, 1, countDenied],
        ['blocked', 10_000, 1, 1, countDenied],
        ['new', 10_000, 3, 1, countDenied],
      ];
      const reply = await run(mode, ...rows);
      const counted = mode === CHARGE && countDenied === 1 ? 1 : 0;
      expect([0, 2, 4, 6].map((i) => reply[i])).toEqual([2 + counted, -1, -1, counted]);
      expect(Number(reply[3])).toBeGreaterThan(0);
      expect(Number(reply[5]) < 0).toBe(mode === CHARGE);
      const blocked = (await dump()) as [string][];
      expect(blocked.find(([key]) => key.includes('blocked'))).toEqual(
        (before as [string][]).find(([key]) => key.includes('blocked')),
      );
    });

    it('shortens an expiry after the end of the window', async () => {
      await suite.client.set(at('long', 10_000), 1, 'PX', 99_999_999);
      const [, left] = await run(mode, ['long', 10_000, 3, 1, countDenied]);
      expect(left).toBe(10_000);
    });

    it.each([
      [-5, 5_000],
      [0, 5_000],
      [-5, undefined],
      [0, undefined],
    ])('treats a counter of %i with an expiry of %p ms as no counter', async (value, left) => {
      const key = at('less', 10_000);
      if (left === undefined) await suite.client.set(key, value);
      else await suite.client.set(key, value, 'PX', left);
      const first = await run(mode, ['less', 10_000, 5, 2, countDenied]);
      expect(first).toEqual(mode === CHARGE ? [2, 10_000] : [0, 0]);
      // it has an expiry after one call
      expect(await suite.client.pttl(key)).toBeGreaterThan(
        mode === CHARGE || left === undefined ? 9_000 : 4_000,
      );
      for (const wanted of mode === CHARGE ? [4, 4] : [2, 4, 4]) {
        const [used] = await run(CHARGE, ['less', 10_000, 5, 2]);
        expect(used).toBe(wanted);
      }
    });
  });

  it.each(['1.5', '0x10', '1e3', '007', '-0', ' 5', '-99999999999999999999', 'abc', ''])(
    'treats the value %j as an error, in a peek and in a charge',
    async (text) => {
      for (const mode of [CHARGE, PEEK] as const) {
        await suite.client.set(at('odd', 60_000), text);
        const reply = await run(mode, ['fine', 60_000, 9, 1], ['odd', 60_000, 9, 1]);
        expect(reply[2]).toMatch(/^ERR /);
        expect(await suite.client.get(at('odd', 60_000))).toBe(text);
        expect(await suite.client.exists(at('fine', 60_000))).toBe(0);
        await suite.client.del(at('odd', 60_000));
      }
    },
  );

  it('returns Redis’ own error for a peek at another type', async () => {
    await suite.client.lpush(at('list', 60_000), 'x');
    expect((await run(PEEK, ['fine', 60_000, 9, 1], ['list', 60_000, 9, 1]))[2]).toMatch(/^WRONGTYPE /);
    await suite.client.del(at('list', 60_000));
  });

  it('gives a counter its window even if another check denies the request', async () => {
    await suite.client.set(at('old', 10_000), 2);
    await run(CHARGE, ['old', 10_000, 5, 1], ['shut', 10_000, 0, 1]);
    expect(await suite.client.get(at('old', 10_000))).toBe('2');
    expect(await suite.client.pttl(at('old', 10_000))).toBeGreaterThan(9_000);
  });

  it.each([
    ['a list', (key: string) => suite.client.lpush(key, 'x')],
    ['a string', (key: string) => suite.client.set(key, 'abc')],
    ['a fraction', (key: string) => suite.client.set(key, '1.5')],
  ])(
    'charges nothing of a request with a key that contains %s, and returns Redis’ own error',
    async (_, spoil) => {
      await run(CHARGE, ['known', 60_000, 9, 1]);
      await spoil(at('bad', 60_000));
      const rows: Row[] = [
        ['known', 60_000, 9, 1],
        ['new', 60_000, 9, 1, 1],
        ['bad', 60_000, 9, 1],
        ['later', 60_000, 9, 1],
      ];
      const reply = await run(CHARGE, ...rows);
      const answers = reply.filter((_value, i) => i % 2 === 0);
      expect(answers).toHaveLength(4);
      for (const answer of answers) expect(answer).toMatch(/^(WRONGTYPE|ERR) /);
      expect(await suite.client.get(at('known', 60_000))).toBe('1');
      expect(await suite.client.exists(at('new', 60_000), at('later', 60_000))).toBe(0);
      await suite.client.del(at('bad', 60_000));
    },
  );

  describe.each(['9007199254740992', '9223372036854775807', '99999999999999999999', '1'.repeat(300)])(
    'treats a counter of %s, which is too large,',
    (number) => {
      const most = Number.MAX_SAFE_INTEGER;
      const large = async (mode: 0 | 1, limit: number, countDenied: 0 | 1): Promise<unknown[]> => {
        await suite.client.set(at('large', 60_000), number);
        const reply = await run(mode, ['fine', 60_000, 9, 1], ['large', 60_000, limit, 1, countDenied]);
        // it has got its window, and is otherwise unchanged
        expect(await suite.client.get(at('large', 60_000))).toBe(number);
        expect(await suite.client.pttl(at('large', 60_000))).toBeGreaterThan(59_000);
        await suite.client.del(at('large', 60_000));
        return reply;
      };

      it.each([0, 1] as const)('as over any limit, with countDenied: %i', async (countDenied) => {
        for (const limit of [0, 9, most]) {
          const reply = await large(CHARGE, limit, countDenied);
          expect(reply.slice(0, 3)).toEqual([0, 0, most]);
          expect(reply[3]).toBeLessThan(-59_000);
        }
      });

      it('as allowed without a limit', async () => {
        expect(await large(CHARGE, NO_LIMIT, 0)).toEqual([1, 60_000, most, 60_000]);
      });

      it('as the maximum in a peek', async () => {
        expect(await large(PEEK, 9, 0)).toEqual([0, 0, most, 60_000]);
      });
    },
  );

  it('stops at 2^53 - 1, and undoes charges from there', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    await run(CHARGE, ['sum', 60_000, NO_LIMIT, 10]);
    expect((await run(CHARGE, ['sum', 60_000, NO_LIMIT, most]))[0]).toBe(most);
    expect(await run(CHARGE, ['sum', 60_000, NO_LIMIT, most], ['shut', 60_000, 0, 1])).toEqual([
      most,
      expect.any(Number),
      0,
      -1,
    ]);
    expect(await suite.client.get(at('sum', 60_000))).toBe(String(most));
    expect((await run(CHARGE, ['sum', 60_000, most, 1]))[1]).toBeLessThan(0);
  });

  it('counts to 2^53 - 1 exactly', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    await run(CHARGE, ['vast', 60_000, most, most - 3]);
    expect((await run(PEEK, ['vast', 60_000, most, 1]))[0]).toBe(most - 3);
    expect((await run(CHARGE, ['vast', 60_000, most, 4]))[1]).toBeLessThan(0);
    expect((await run(CHARGE, ['vast', 60_000, most, 3]))[0]).toBe(most);
  });

  it.each([
    ['one run', [4]],
    ['a run for each key', [1, 1, 1, 1]],
    ['two runs', [3, 1]],
  ])('charges each key once, in %s, if one has lost its expiry', async (_, sizes) => {
    const keys = ['known', 'new', 'endless', 'last'].map((label) => at(label, 60_000));
    await suite.client.set(keys[0]!, 4, 'PX', 50_000);
    await suite.client.set(keys[2]!, 6);
    const runs = sizes.flatMap((size) => [60_000, 9, 2, size]);
    const text = keys.map((_key, i) => `-${i + 1},9,2,0,`).join('');
    const reply = await consume(keys, text, runs);
    expect(reply.map((value, i) => (i % 2 === 0 ? Math.round(+value / 1_000) : value))).toEqual([
      ...[0, 6, 50, 2, 60, 8, 60, 2, 60],
    ]);
    expect(await suite.client.mget(keys)).toEqual(['6', '2', '8', '2']);
    for (const key of keys) expect(await suite.client.pttl(key)).toBeGreaterThan(49_000);
  });

  it('charges keys after one that is only read', async () => {
    const keys = ['first', 'read', 'second'].map((label) => at(label, 60_000));
    const runs = [9, 1, NO_LIMIT, 0, 9, 1].flatMap((value, i) =>
      i % 2 === 0 ? [60_000, value] : [value, 1],
    );
    expect(await consume(keys, '1,-2,-1,0,3,0,', runs)).toEqual([0, 1, 60_000, 0, 0, 1, 60_000]);
    expect(await suite.client.mget(keys)).toEqual(['1', null, '1']);
  });

  it('reads a check of cost 1 with the limit of its run by its number alone', async () => {
    const keys = [at('short', 60_000), at('other', 60_000)];
    const runs = [60_000, 3, 2, 1, 60_000, NO_LIMIT, 1, 1];
    const long = '-1,3,-1,-2,-1,1,0,-1,3,1,0,';
    const short = '-1,3,-1,2,0,1,0,';
    const replies: unknown[] = [];
    for (const text of [long, short]) {
      await suite.client.set(keys[0]!, 2, 'PX', 50_000);
      await suite.client.del(keys[1]!);
      const reply = await consume(keys, text, runs);
      replies.push(reply.map((value, i) => (i % 2 === 0 ? Math.round(+value / 100) : value)));
      expect(await suite.client.mget(keys)).toEqual(['3', '1']);
    }
    expect(replies[1]).toEqual(replies[0]);
    expect(replies[0]).toEqual([0, 3, 500, 1, 600, 3, -500]);
  });

  it('ends windows by the server’s clock', async () => {
    const row: Row = ['short', 60, 2, 1];
    const started = performance.now();
    let windows = 0;
    while (windows < 5 && performance.now() - started < 10_000) {
      const [used] = await run(CHARGE, row);
      if (used === 1) windows++;
      expect(used).toBeLessThanOrEqual(2);
    }
    expect(windows).toBe(5);
    // five openings are four whole windows
    expect(performance.now() - started).toBeGreaterThanOrEqual(4 * 60);
  });

  it('does not change a counter in its last millisecond', async () => {
    // a counter with PTTL 0 is alive: if it got another window, it would deny its client for twice as long
    const row: Row = ['edge', 8, 1, 1];
    const grown: number[] = [];
    let before = 0;
    let lastMilliseconds = 0;
    for (let i = 0; i < 40_000 && lastMilliseconds < 50; i++) {
      const [, left] = (await run(CHARGE, row)) as [number, number];
      const now = left >= 0 ? left : -left - 1;
      if (left < 0 && now > before) grown.push(now);
      if (left < 0 && now === 0) lastMilliseconds++;
      before = now;
    }
    expect(lastMilliseconds).toBeGreaterThan(0);
    expect(grown).toEqual([]);
  });
});
