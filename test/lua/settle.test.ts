import { readFileSync } from 'node:fs';
import { consumeLua, settleLua } from '../../src/store/redis/lua.generated.js';
import { keysOf } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { runScript } from '../support/run-script.js';

const WINDOW_MS = 60_000;

describe('lua/settle.lua', () => {
  const suite = redisSuite();

  const at = (label: string, windowMs = WINDOW_MS): string => `${suite.namespace}:${label}:${windowMs}:x`;

  /** Charges a counter, and returns when its window ends, as the store gets it. With a cost of 0 it only peeks. */
  async function charge(key: string, cost: number, windowMs = WINDOW_MS): Promise<number> {
    const args = [JSON.stringify([`@-1,-1,${cost},0,`, windowMs, -1, cost, 1])];
    const [, , , endsAtMs] = (await runScript(suite.client, consumeLua, [key], args)) as number[];
    return endsAtMs!;
  }

  type Row = readonly [key: string, endsAtMs: number, units: number, windowMs?: number];

  function refund(...rows: Row[]): Promise<(number | string)[]> {
    return settle(...rows.map(([key, endsAtMs, units, ...more]): Row => [key, endsAtMs, -units, ...more]));
  }

  /** Charges units above 0, and refunds units below 0. */
  function settle(...rows: Row[]): Promise<(number | string)[]> {
    const keys = rows.map(([key]) => key);
    const args = rows.flatMap(([, endsAtMs, units, windowMs = WINDOW_MS]) => [windowMs, endsAtMs, units]);
    return runScript(suite.client, settleLua, keys, args);
  }

  /** The server's clock. */
  async function nowMs(): Promise<number> {
    const [seconds, micros] = await suite.client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  /** Whether the server has PEXPIRETIME; else the end is computed, to within some milliseconds. */
  async function isExact(): Promise<boolean> {
    return suite.client.call('PEXPIRETIME', at('none')).then(
      () => true,
      () => false,
    );
  }

  /** The value of a counter; fails if its end has changed. */
  async function heldUntil(key: string, endsAtMs: number): Promise<string | null> {
    const off = Math.abs((await charge(key, 0)) - endsAtMs);
    expect(off).toBeLessThanOrEqual((await isExact()) ? 0 : 50);
    return suite.client.get(key);
  }

  it('is embedded in the package', () => {
    expect(settleLua).toBe(readFileSync(new URL('../../lua/settle.lua', import.meta.url), 'utf8'));
  });

  it('refunds what was charged in this window, and does not change its end', async () => {
    await charge(at('a'), 5);
    const endsAtMs = await charge(at('a'), 3);
    const [used, left] = await refund([at('a'), endsAtMs, 3]);
    expect(used).toBe(5);
    expect(left).toBeGreaterThan(WINDOW_MS - 10_000);
    expect(left).toBeLessThanOrEqual(WINDOW_MS);
    expect(await heldUntil(at('a'), endsAtMs)).toBe('5');
  });

  it('refunds nothing of a charge that was cut off at the maximum', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const endsAtMs = await charge(at('a'), 10);
    expect(await charge(at('a'), most)).toBe(0);
    expect((await refund([at('a'), 0, most]))[0]).toBe(most);
    // an earlier charge can still be refunded
    expect((await refund([at('a'), endsAtMs, 10]))[0]).toBe(most - 10);
  });

  it('refunds many times in the middle of a window without changing its end', async () => {
    await charge(at('a'), 100);
    await suite.client.pexpire(at('a'), 30_000);
    const endsAtMs = await charge(at('a'), 0);
    for (let i = 1; i <= 20; i++) expect((await refund([at('a'), endsAtMs, 1]))[0]).toBe(100 - i);
    expect(await heldUntil(at('a'), endsAtMs)).toBe('80');
  });

  it.each([
    ['all units', 4, 4],
    ['more units than it has', 4, 9],
    ['far more units than it has', 1, Number.MAX_SAFE_INTEGER],
  ])('deletes the counter when it refunds %s', async (_, charged, cost) => {
    const endsAtMs = await charge(at('a'), charged);
    expect(await refund([at('a'), endsAtMs, cost])).toEqual([0, 0]);
    expect(await suite.client.exists(at('a'))).toBe(0);
    // the next request opens another window
    expect(await charge(at('a'), 1)).toBeGreaterThanOrEqual(endsAtMs);
    expect(await suite.client.get(at('a'))).toBe('1');
  });

  it.each([-60_000, -30_000, -1_000, -200, 200, 1_000, 30_000, 60_000])(
    'does not change a window that ends %i ms from the one that was charged',
    async (off) => {
      const endsAtMs = await charge(at('a'), 5);
      const [used, left] = await refund([at('a'), endsAtMs + off, 3]);
      expect(used).toBe(5);
      expect(left).toBeGreaterThan(0);
      expect(await suite.client.get(at('a'))).toBe('5');
    },
  );

  it.each([-1, 1])('compares the end to the millisecond if the server has PEXPIRETIME (%i)', async (off) => {
    const endsAtMs = await charge(at('a'), 5);
    expect((await refund([at('a'), endsAtMs + off, 3]))[0]).toBe((await isExact()) ? 5 : 2);
  });

  it('does not change a window that was opened later', async () => {
    const endsAtMs = await charge(at('a'), 5);
    await suite.client.del(at('a'));
    await suite.client.set(at('a'), 5, 'PX', 40_000);
    expect((await refund([at('a'), endsAtMs, 5]))[0]).toBe(5);
    expect(await suite.client.get(at('a'))).toBe('5');
  });

  it.each([1, 2, 3, 4, 5, 8])(
    'does not change a window of %i ms that follows at once after another',
    async (windowMs) => {
      // such windows are shorter than the precision of the end: then nothing is refunded
      const key = at('tiny', windowMs);
      for (let i = 0; i < 10; i++) {
        await suite.client.del(key);
        const endsAtMs = await charge(key, 7, windowMs);
        while ((await suite.client.exists(key)) === 1);
        await charge(key, 7, windowMs);
        // it may have ended meanwhile; else it contains all that was charged in it
        expect([0, 7]).toContain((await refund([key, endsAtMs, 3, windowMs]))[0]);
      }
    },
  );

  it('changes nothing about a block, though it ends with the window', async () => {
    const endsAtMs = await charge(at('a'), 5);
    await suite.client.set(at('a'), `400000${endsAtMs}`, 'PXAT', endsAtMs);
    expect(await refund([at('a'), endsAtMs, 3])).toEqual([0, 0]);
    expect(await suite.client.get(at('a'))).toBe(`400000${endsAtMs}`);
  });

  it('creates no counter', async () => {
    const endsAtMs = await charge(at('a'), 1);
    await suite.client.del(at('a'));
    expect(await refund([at('a'), endsAtMs, 1], [at('never'), endsAtMs, 5])).toEqual([0, 0, 0, 0]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it.each([
    ['a list', (key: string) => suite.client.lpush(key, 'x')],
    ['a set', (key: string) => suite.client.sadd(key, 'x')],
    ['a string', (key: string) => suite.client.set(key, 'abc')],
    ['an empty string', (key: string) => suite.client.set(key, '')],
    ['a fraction', (key: string) => suite.client.set(key, '1.5')],
    ['a number with a leading zero', (key: string) => suite.client.set(key, '007')],
    ['a number with a space', (key: string) => suite.client.set(key, ' 5')],
    ['a number in another form', (key: string) => suite.client.set(key, '1e3')],
    ['a negative number', (key: string) => suite.client.set(key, '-5')],
    ['zero', (key: string) => suite.client.set(key, '0')],
    ['a number that is too large', (key: string) => suite.client.set(key, '99999999999999999999')],
  ])('does not change a key that contains %s, and refunds the other keys', async (_, spoil) => {
    const endsAtMs = await charge(at('a'), 5);
    const otherEndsAtMs = await charge(at('b'), 5);
    await spoil(at('bad'));
    await suite.client.pexpire(at('bad'), WINDOW_MS);
    const before = await suite.client.dump(at('bad'));
    const badEndsAtMs = await charge(at('bad'), 0);
    const reply = await refund(
      [at('a'), endsAtMs, 2],
      [at('bad'), badEndsAtMs, 2],
      [at('b'), otherEndsAtMs, 2],
    );
    expect([reply[0], reply[2], reply[3], reply[4]]).toEqual([3, 0, 0, 3]);
    expect(await suite.client.dump(at('bad'))).toEqual(before);
    expect(await suite.client.pttl(at('bad'))).toBeGreaterThan(WINDOW_MS - 10_000);
    await suite.client.del(at('bad'));
  });

  it('refunds nothing to a counter without an expiry, and gives it none', async () => {
    await suite.client.set(at('old'), 5);
    expect(await refund([at('old'), (await nowMs()) + 30_000, 2])).toEqual([5, 0]);
    expect(await suite.client.get(at('old'))).toBe('5');
    expect(await suite.client.pttl(at('old'))).toBe(-1);
    await suite.client.del(at('old'));
  });

  it('does not mistake a counter without an expiry for one that ends now', async () => {
    await suite.client.set(at('old'), 1_000);
    // covers several milliseconds, because the script runs in one of them
    const since = await nowMs();
    await Promise.all(Array.from({ length: 40 }, (_, i) => refund([at('old'), since + i, 1])));
    expect(await suite.client.getdel(at('old'))).toBe('1000');
  });

  it('refunds a counter that occurs several times as often', async () => {
    const endsAtMs = await charge(at('a'), 10);
    const reply = await refund([at('a'), endsAtMs, 2], [at('b'), endsAtMs, 1], [at('a'), endsAtMs, 3]);
    // each occurrence has the result after the last
    expect([reply[0], reply[2], reply[3], reply[4]]).toEqual([5, 0, 0, 5]);
    expect(reply[1]).toBe(reply[5]);
    expect(reply[1]).toBeGreaterThan(0);
    expect(await suite.client.get(at('a'))).toBe('5');
  });

  it('refunds no more than a counter has, however often it occurs', async () => {
    const endsAtMs = await charge(at('a'), 3);
    expect(await refund(...Array.from({ length: 5 }, () => [at('a'), endsAtMs, 2] as const))).toEqual(
      Array.from({ length: 10 }, () => 0),
    );
    expect(await suite.client.exists(at('a'))).toBe(0);
  });

  it('refunds one window of a counter, and not another, in one call', async () => {
    const endsAtMs = await charge(at('a'), 10);
    const reply = await refund([at('a'), endsAtMs - 10_000, 4], [at('a'), endsAtMs, 3]);
    expect([reply[0], reply[2]]).toEqual([7, 7]);
  });

  it('changes nothing with a cost of 0', async () => {
    const endsAtMs = await charge(at('a'), 5);
    expect((await refund([at('a'), endsAtMs, 0], [at('none'), endsAtMs, 0]))[0]).toBe(5);
    expect(await suite.client.get(at('a'))).toBe('5');
    expect(await suite.client.exists(at('none'))).toBe(0);
  });

  it('returns nothing for no keys', async () => {
    expect(await refund()).toEqual([]);
  });

  it('refunds exactly up to 2^53 - 1', async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const endsAtMs = await charge(at('a'), most);
    expect((await refund([at('a'), endsAtMs, 2]))[0]).toBe(most - 2);
    expect(await suite.client.get(at('a'))).toBe(String(most - 2));
    expect((await refund([at('a'), endsAtMs, most - 3]))[0]).toBe(1);
  });

  it('undoes the charges of consume.lua, for windows of any length', async () => {
    for (const windowMs of [1_000, 86_400_000, 31_536_000_000]) {
      const key = at(`w${windowMs}`, windowMs);
      await charge(key, 2, windowMs);
      const endsAtMs = await charge(key, 3, windowMs);
      expect((await refund([key, endsAtMs, 3, windowMs]))[0]).toBe(2);
      expect((await refund([key, endsAtMs, 2, windowMs]))[0]).toBe(0);
      expect(await suite.client.exists(key)).toBe(0);
    }
  });

  it('refunds in the last millisecond, and restores no counter that has expired', async () => {
    // a counter with PTTL 0 is alive
    let given = 0;
    for (let round = 0; round < 400 && given < 10; round++) {
      const key = at('edge', 8);
      const endsAtMs = await charge(key, 100_000, 8);
      let before = 100_000;
      for (let ended = false; !ended;) {
        const calls = Array.from({ length: 20 }, () => refund([key, endsAtMs, 1, 8]));
        for (const [used, left] of (await Promise.all(calls)) as [number, number][]) {
          ended ||= used === 0;
          // a server that is delayed between two reads of its clock may refund nothing, but never too much
          expect(ended ? [0] : [before, before - 1]).toContain(used);
          if (!ended && left === 0 && used < before) given++;
          before = used;
        }
      }
      expect(await suite.client.exists(key)).toBe(0);
    }
    expect(given).toBeGreaterThan(0);
  });
});
