import type { Redis } from 'ioredis';
import type { Check } from '../../src/core/check.js';
import { CONCURRENCY } from '../../src/core/counter-kind.js';
import { Log } from '../../src/core/log.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from '../support/check.js';
import { watchCommands } from '../support/monitor.js';
import { plainClient } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';

describe('leases in Redis', () => {
  let server: Server;
  let client: Redis;
  let store: RedisStore;
  let lines: string[];
  let serial = 0;

  beforeEach(async () => {
    server = await startServer();
    client = plainClient(server.url);
    lines = [];
    const note = (line: string): void => void lines.push(line);
    store = await RedisStore.create(
      { redis: server.url, namespace: 'fl', timeoutMs: 2_000, coalesce: true, placement: undefined },
      new Log({ log: note, warn: note, error: note }),
    );
    await store.open();
  });
  afterEach(async () => {
    await store.close();
    client.disconnect();
    await server.stop();
  });

  const lease = (key = 'a', parts: Partial<Check> = {}): Check =>
    check(`fl:${key}:leases:x`, {
      group: `fl:${key}:leases:`,
      text: 'x',
      kind: CONCURRENCY,
      windowMs: 15_000,
      limit: 1_000,
      lease: `lease-${++serial}`,
      ...parts,
    });

  /** How often clients call scripts meanwhile. */
  async function callsDuring(work: () => Promise<unknown>): Promise<number> {
    let calls = 0;
    const stop = await watchCommands(server.url, ({ args, isFromScript }) => {
      if (!isFromScript && /^eval/i.test(args[0] ?? '')) calls++;
    });
    await work();
    await client.ping();
    stop();
    return calls;
  }

  it('are taken, renewed and released in one call for all requests of a turn', async () => {
    const all = Array.from({ length: 60 }, (_, i) => lease(`key-${i % 3}`));
    // so that the server has the scripts
    await store.renew([lease('other')]);
    const [first] = await store.consume([lease('other')]);
    const results = await store.consume([all[0]!]);
    expect(
      await callsDuring(async () => {
        const more = await Promise.all(all.slice(1).map((one) => store.consume([one])));
        results.push(...more.flat());
      }),
    ).toBe(1);
    expect(results.every(({ allowed }) => allowed)).toBe(true);
    expect(await callsDuring(async () => store.renew(all))).toBe(1);
    expect(
      await callsDuring(() =>
        Promise.all(all.map((one, i) => store.settle([one], [results[i] ?? first!], [0]))),
      ),
    ).toBe(1);
    expect(await client.keys('fl:key-*')).toEqual([]);
  });

  it('are taken by the requests that pass, of several that share a call and have counters that are alike', async () => {
    const all = Array.from({ length: 12 }, (_, i) => lease(`key-${i % 3}`, { limit: 2 }));
    let results: boolean[] = [];
    const takeAll = async (): Promise<void> => {
      const taken = await Promise.all(all.map((one) => store.consume([one])));
      results = taken.map(([result]) => result!.allowed);
    };
    await store.consume([lease('other')]);
    expect(await callsDuring(takeAll)).toBe(1);
    expect(results).toEqual(all.map((_, i) => i < 6));
    const held = await Promise.all([0, 1, 2].map((i) => client.zrange(`fl:key-${i}:leases:x`, '0', '-1')));
    expect(held.flat().sort()).toEqual(
      all
        .slice(0, 6)
        .map(({ lease: id }) => id)
        .sort(),
    );
    for (const [i, ids] of held.entries())
      expect(ids.sort()).toEqual([all[i]!.lease, all[i + 3]!.lease].sort());
  });

  it('are released before they are taken again in the same turn', async () => {
    const [mine, next] = [lease('a', { limit: 1 }), lease('a', { limit: 1 })];
    const [result] = await store.consume([mine]);
    // another request begins the call that the next one shares
    const [, , taken] = await Promise.all([
      store.consume([lease('other')]),
      store.settle([mine], [result!], [0]),
      store.consume([next]),
    ]);
    expect(taken).toMatchObject([{ allowed: true, used: 1 }]);
  });

  it('are renewed in calls of at most 256', async () => {
    const all = Array.from({ length: 600 }, (_, i) => lease(`key-${i % 2}`));
    await store.renew([lease()]);
    expect(await callsDuring(async () => store.renew(all))).toBe(3);
    expect(await Promise.all([0, 1].map((i) => client.zcard(`fl:key-${i}:leases:x`)))).toEqual([300, 300]);
  });

  it('do not come back by a renewal that was sent before they were released', async () => {
    const mine = lease();
    await client.script('FLUSH');
    const [result] = await store.consume([mine]);
    // the server has the script that releases, and not the one that renews
    const [renewed, settled] = await Promise.all([store.renew([mine]), store.settle([mine], [result!], [0])]);
    expect([renewed, settled]).toMatchObject([[true], [{ used: 0 }]]);
    expect(await client.exists(mine.key)).toBe(0);
  });

  it('are renewed by a server that is full', async () => {
    const mine = lease();
    await store.consume([mine]);
    await client.config('SET', 'maxmemory', '1');
    expect(await store.renew([mine, lease('new')])).toEqual([true, false]);
    expect(lines.filter((line) => line.includes('RENEWAL'))).toEqual([]);
  });

  it('are not renewed in a key of another type, which is logged; the others are', async () => {
    await client.set('fl:bad:leases:x', '5');
    const good = lease();
    await store.consume([good]);
    for (let i = 0; i < 2; i++) expect(await store.renew([lease('bad'), good])).toEqual([undefined, true]);
    expect(lines.filter((line) => line.startsWith('FREQ_LIMIT_RENEWAL_FAILED'))).toHaveLength(1);
    expect(lines.join()).toContain('WRONGTYPE');
  });

  it('are not renewed while the server is away, and a renewal finds out that it is back', async () => {
    const mine = lease();
    const [result] = await store.consume([mine]);
    client.disconnect();
    await server.stop();
    for (let i = 0; i < 8; i++) await store.consume([lease('other')]).catch(() => undefined);
    expect(await store.renew([mine])).toEqual([undefined]);
    expect(await store.settle([mine], [result!], [0])).toEqual([result]);
    expect(lines.filter((line) => /RENEWAL|REFUND/.test(line))).toEqual([]);
    server = await startServer([], server.port);
    client = plainClient(server.url);
    const startedMs = performance.now();
    let renewed: (boolean | undefined)[] = [];
    while (renewed[0] === undefined && performance.now() - startedMs < 10_000) {
      renewed = await store.renew([mine]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // the new server has no lease yet
    expect(renewed).toEqual([false]);
    expect(store.health().isUp).toBe(true);
    expect(await store.consume([lease()])).toMatchObject([{ used: 2 }]);
  });

  it('are released on the server after they were taken in a call that no reply came for', async () => {
    const mine = lease();
    const [result] = await store.consume([lease('other')]);
    await client.zadd('fl:a:leases:x', String(Date.now() + 10_000), mine.lease!);
    expect(await store.settle([mine], [{ ...result!, source: 'memory' }], [0])).toMatchObject([{ used: 0 }]);
    expect(await client.exists('fl:a:leases:x')).toBe(0);
  });
});
