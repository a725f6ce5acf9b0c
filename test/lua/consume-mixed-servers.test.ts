import type { Redis } from 'ioredis';
import type { Decision } from '../../src/core/counters/decide.js';
import { callMixed, type KeyedCheck, type MixedRequest } from '../support/mixed-script.js';
import { plainClient } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';

const MINUTE = 60_000;

function checksOf(prefix: string): KeyedCheck[] {
  const now = Date.now();
  const common = {
    windowMs: MINUTE,
    limit: 3,
    cost: 1,
    countDenied: false,
    shadow: false,
    block: { stepsMs: [MINUTE, 2 * MINUTE], forgiveAfterMs: MINUTE },
  };
  const calendar = {
    type: 'calendar',
    startsAtMs: now - 1,
    endsAtMs: now + MINUTE,
    nextEndsAtMs: now + 2 * MINUTE,
  } as const;
  return [
    { ...common, key: `${prefix}:fixed`, kind: { type: 'fixed-window' } },
    { ...common, key: `${prefix}:calendar`, kind: calendar },
    { ...common, key: `${prefix}:sliding`, kind: { type: 'sliding-window' } },
    { ...common, key: `${prefix}:bucket`, kind: { type: 'token-bucket', burst: 3 } },
  ];
}

describe('lua/consume-mixed.lua on a server', () => {
  const servers: Server[] = [];
  const clients: Redis[] = [];

  async function start(...args: string[]): Promise<{ server: Server; client: Redis }> {
    const server = await startServer(args);
    const client = plainClient(server.url);
    servers.push(server);
    clients.push(client);
    return { server, client };
  }

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.quit()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  it('writes the same to its replica', async () => {
    const { server, client } = await start('--repl-diskless-sync-delay', '0');
    const { client: replica } = await start('--replicaof', '127.0.0.1', String(server.port));
    for (let i = 0; i < 100 && !(await replica.info('replication')).includes('master_link_status:up'); i++)
      await new Promise((resolve) => setTimeout(resolve, 100));
    const requests: MixedRequest[] = checksOf('a').map((check) => ({ type: 'consume', checks: [check] }));
    const over: MixedRequest[] = checksOf('b').map((check) => ({
      type: 'consume',
      checks: [{ ...check, cost: 2 }],
    }));
    const [first] = await callMixed(client, requests.slice(2, 3));
    for (let i = 0; i < 2; i++) await callMixed(client, [...requests, ...over]);
    const token = (first as readonly [Decision])[0].token!;
    await callMixed(client, [{ type: 'settle', check: checksOf('a')[2]!, token, cost: 0 }]);
    await client.wait(1, 5_000);
    const keys = (await client.keys('*')).sort();
    expect(keys).toHaveLength(12);
    expect((await replica.keys('*')).sort()).toEqual(keys);
    for (const key of keys) {
      expect(await replica.getBuffer(key)).toEqual(await client.getBuffer(key));
      const [ours, theirs] = [await client.pttl(key), await replica.pttl(key)];
      expect(theirs).toBeGreaterThan(0);
      expect(Math.abs(ours - theirs)).toBeLessThan(1_000);
    }
  });

  it('charges nothing if the server accepts no writes', async () => {
    const { server } = await start();
    const { client: replica } = await start('--replicaof', '127.0.0.1', String(server.port));
    await expect(callMixed(replica, [{ type: 'consume', checks: checksOf('a') }])).rejects.toThrow(
      /READONLY/,
    );
    expect(await replica.keys('*')).toEqual([]);
  });

  it('charges nothing if the user lacks a permission', async () => {
    const { client } = await start();
    // Redis 5 has no users
    const rules = ['on', 'nopass', '~*', '&*', '+@all', '-get'];
    const hasUsers = await client.call('ACL', 'SETUSER', 'limited', ...rules).then(
      () => true,
      () =>
        client.call('ACL', 'SETUSER', 'limited', ...rules.filter((rule) => rule !== '&*')).then(
          () => true,
          () => false,
        ),
    );
    if (!hasUsers) return;
    await client.call('AUTH', 'limited', '');
    await expect(callMixed(client, [{ type: 'consume', checks: checksOf('a') }])).rejects.toThrow(
      /no permission|can't run this command/i,
    );
    expect(await client.keys('*')).toEqual([]);
  });

  it('charges nothing if the server is full', async () => {
    const { client } = await start();
    await callMixed(client, [{ type: 'consume', checks: checksOf('old') }]);
    const before = await client.mget('old:fixed', 'old:calendar', 'old:sliding', 'old:bucket');
    await client.config('SET', 'maxmemory', '1');
    const both = checksOf('old').flatMap((check, i) => [check, checksOf('new')[i]!]);
    await expect(callMixed(client, [{ type: 'consume', checks: both }])).rejects.toThrow(/OOM/);
    expect(await client.mget('old:fixed', 'old:calendar', 'old:sliding', 'old:bucket')).toEqual(before);
    expect(await client.keys('new*')).toEqual([]);
  });
});
