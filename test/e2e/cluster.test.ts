import { Controller, Get } from '@nestjs/common';
import { Cluster } from 'ioredis';
import { createRequire } from 'node:module';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve } from '../support/app.js';
import { until } from '../support/cluster.js';
import { killConnections } from '../support/kill-connections.js';
import { captureLog } from '../support/log.js';
import { keysOf } from '../support/redis.js';
import { redisClusterSuite } from '../support/redis-cluster-suite.js';

@Controller()
class Busy {
  @Get()
  @FreqLimit('1m', 3, '{headers.x-client}')
  @FreqLimit('1h', 1_000_000, 'all')
  @FreqLimit('1h', 1_000_000, 'agent:{headers.user-agent}')
  @FreqLimit('1h', 1_000_000, 'tenant:{headers.x-tenant}')
  @FreqLimit('1d', 1_000_000, '{ip}')
  get() {
    return 'ok';
  }
}

const suite = redisClusterSuite();
const { lines } = captureLog();

function start(options: FreqLimitOptions, platform = PLATFORMS[0]!) {
  return serve(platform, {
    imports: [FreqLimitModule.forRoot({ namespace: suite.namespace, timeoutMs: 5_000, ...options })],
    controllers: [Busy],
  });
}

/** The sum over the primaries of the first number that follows a name in INFO. */
async function counted(section: string, name: RegExp): Promise<number> {
  const infos = await Promise.all(suite.client.nodes('master').map((node) => node.info(section)));
  return infos.reduce((sum, info) => sum + Number(name.exec(info)?.[1] ?? 0), 0);
}

describe.each(PLATFORMS)('five rules in five slots, on %s', (platform) => {
  it('allow exactly the limit of each client, with one call per slot and without CROSSSLOT', async () => {
    const { url } = await start({ redis: { cluster: suite.cluster.nodes } }, platform);
    lines.length = 0;
    const [calls, crossed] = [/cmdstat_evalsha:calls=(\d+)/, /errorstat_CROSSSLOT:count=(\d+)/];
    const before = await counted('commandstats', calls);
    const clients = Array.from({ length: 100 }, (_, i) => `client-${i}-{x}${i}`);
    const requests = clients.flatMap((client) => [client, client, client, client, client]);
    const answers = await Promise.all(
      requests.map(async (client) => {
        const response = await fetch(url, { headers: { 'x-client': client, 'x-tenant': `t${client}` } });
        return [client, response.status] as const;
      }),
    );
    const passes = answers.filter(([, status]) => status === 200);
    expect(answers.filter(([, status]) => status !== 200 && status !== 429)).toEqual([]);
    for (const client of clients) expect(passes.filter(([one]) => one === client)).toHaveLength(3);
    expect(await counted('errorstats', crossed)).toBe(0);
    // charged, and refunded where the client's own rule denied
    const sent = (await counted('commandstats', calls)) - before;
    expect(sent).toBeLessThanOrEqual(requests.length * 5 * 2);
    // denied requests leave no counter
    const [all] = (await keysOf(suite.client, suite.namespace)).filter((key) => key.endsWith(':all'));
    expect(await suite.client.get(all!)).toBe('300');
    expect(lines).toEqual([]);
  });
});

describe('a client over its own limit', () => {
  const phone = { name: 'phone', key: '+15550100', window: '1h', limit: 1 } as const;
  const by = (address: string) => ({ name: 'address', key: address, window: '1h', limit: 3 }) as const;

  it.each([true, false])(
    'cannot lock out a client whose phone number it sends, denyCache %p',
    async (denyCache) => {
      const redis = { cluster: suite.cluster.nodes };
      const [attacked, other] = await Promise.all(
        [1, 2].map(() => start({ redis, denyCache, timeoutMs: 30_000 })),
      );
      const [attacker, victim] = [attacked!, other!].map(({ app }) => app.get(FreqLimitService));
      let n = 0;
      const attack = async (): Promise<boolean> => {
        const device = { name: 'device', key: `device-${n++}`, window: '1h', limit: 5 } as const;
        return (await attacker!.consume([phone, device, by('evil')])).allowed;
      };
      await attacker!.consume({ ...by('evil'), cost: 3 });
      // the first denial fills the cache
      expect(await attack()).toBe(false);
      let isOver = false;
      const attacks = Array.from({ length: 10 }, async () => {
        while (!isOver) {
          expect(await attack()).toBe(false);
          // answers from memory do not yield to the event loop
          await new Promise(setImmediate);
        }
      });
      const seen: boolean[] = [];
      try {
        for (let i = 0; i < 60; i++) {
          seen.push((await victim!.consume([phone, by(`good-${i}`)])).allowed);
          await victim!.reset(phone);
          await new Promise(setImmediate);
        }
      } finally {
        isOver = true;
        await Promise.all(attacks);
      }
      expect(seen).toEqual(seen.map(() => true));
      expect(n).toBeGreaterThan(60);
    },
  );
});

describe('a client over one of its limits', () => {
  it('costs the Cluster almost no calls, even if its rules are in several slots', async () => {
    const { app } = await start({ redis: { cluster: suite.cluster.nodes } });
    const service = app.get(FreqLimitService);
    const checks = ['phone', 'address', 'agent', 'tenant'].map(
      (key, i) => ({ key, window: '1h', limit: i === 0 ? 3 : 1_000 }) as const,
    );
    for (let i = 0; i < 3; i++) expect((await service.consume(checks)).allowed).toBe(true);
    const calls = /cmdstat_evalsha:calls=(\d+)/;
    const before = await counted('commandstats', calls);
    const from = performance.now();
    for (let i = 0; i < 500; i++) {
      const { allowed, results } = await service.consume(checks);
      expect([allowed, ...results.map(({ used }) => used)]).toEqual([false, 3, 3, 3, 3]);
    }
    // once a second the client is charged in four slots and refunded in three
    const rounds = 2 + Math.floor((performance.now() - from) / 1_000);
    expect((await counted('commandstats', calls)) - before).toBeLessThanOrEqual(7 * rounds);
  });
});

describe('a Cluster that was unreachable', () => {
  it('is used again when it is reachable, with a log line', async () => {
    const { app } = await start({ redis: { cluster: suite.cluster.nodes }, denyCache: false });
    const service = app.get(FreqLimitService);
    const checks = Array.from({ length: 12 }, (_, i) => ({ key: `k${i}`, window: '1h' }) as const);
    const primaries = suite.client.nodes('master');
    await Promise.all(primaries.map((node) => node.config('SET', 'min-replicas-to-write', 1)));
    expect((await service.consume(checks)).source).toBe('memory');
    expect(service.health()).toMatchObject({ isUp: false, reason: expect.stringContaining('NOREPLICAS') });
    await Promise.all(primaries.map((node) => node.client('KILL', 'TYPE', 'NORMAL').catch(() => undefined)));
    await Promise.all(
      suite.cluster.primaries.map((node) =>
        suite.cluster.client(node).config('SET', 'min-replicas-to-write', 0),
      ),
    );
    await until(async () => (await service.consume(checks)).source === 'store', 8_000);
    await until(() => service.health().isUp, 3_000);
    expect(lines.at(-1)).toMatch(/^FREQ_LIMIT_STORE_RECOVERED: Redis is available again/);
  });
});

describe('a Cluster client of the application', () => {
  // the other major version of the client, from another copy
  const other = createRequire(new URL('../../compat/nest-11/package.json', import.meta.url))('ioredis') as {
    Cluster: typeof Cluster;
  };
  const SAFE = { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 10_000 } };

  it.each([
    ['of this copy', Cluster, SAFE, 0],
    ['of another copy', other.Cluster, SAFE, 0],
    ['with default options', Cluster, {}, 2],
    ['with a prefix', Cluster, { ...SAFE, keyPrefix: 'app:' }, 0],
    ['with an opening brace in its prefix', Cluster, { ...SAFE, keyPrefix: 'app{x:' }, 0],
    ['with a tag in its prefix', Cluster, { ...SAFE, keyPrefix: '{app}:' }, 0],
  ])('%s counts and stays open', async (_, ClusterOfCopy, options, warnings) => {
    const client = new ClusterOfCopy([...suite.cluster.nodes], options);
    const { app } = await start({ redis: client });
    const service = app.get(FreqLimitService);
    const checks = ['a', 'b', '{c}', 'd'].map((key) => ({ key, window: '1m', limit: 2 }) as const);
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await service.consume(checks));
    expect(answers.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'store'],
      [true, 'store'],
      [false, 'store'],
    ]);
    await service.reset(checks);
    expect((await service.peek(checks)).results.map(({ used }) => used)).toEqual([0, 0, 0, 0]);
    expect(lines).toHaveLength(warnings);
    await closeApps();
    expect([client.status, await client.set('still-open', 1, 'PX', 1_000)]).toEqual(['ready', 'OK']);
    await client.quit();
  });

  it('is rejected with a prefix that is not a hash tag', () => {
    const client = new Cluster([...suite.cluster.nodes], { keyPrefix: 'a{}:', lazyConnect: true });
    expect(() => FreqLimitModule.forRoot({ redis: client })).not.toThrow();
    return expect(start({ redis: client })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_OPTIONS',
      message: expect.stringMatching(/^FreqLimitModule: redis: keyPrefix: "a\{\}:" has empty braces/),
    });
  });
});

describe('hashTag', () => {
  it('puts all keys of a request in one slot and one call', async () => {
    const { app } = await start({
      redis: { cluster: suite.cluster.nodes },
      hashTag: () => 'all',
      denyCache: false,
    });
    const service = app.get(FreqLimitService);
    const calls = /cmdstat_evalsha:calls=(\d+)/;
    const checks = ['a', 'b', 'c', 'd'].map((key) => ({ key, window: '1m', limit: 2 }) as const);
    await service.consume(checks);
    const before = await counted('commandstats', calls);
    await service.consume(checks);
    expect((await counted('commandstats', calls)) - before).toBe(1);
    expect(await keysOf(suite.client, suite.namespace)).toEqual(
      checks.map(() => expect.stringMatching(new RegExp(`^${suite.namespace}:\\{all\\}:service~`)) as string),
    );
  });

  it('must return a tag without braces', async () => {
    const { app } = await start({ redis: { cluster: suite.cluster.nodes }, hashTag: () => '{x}' });
    await expect(app.get(FreqLimitService).consume({ key: 'a', window: '1m' })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_RULE_FAILED',
      message: expect.stringContaining('hashTag returned "{x}"'),
    });
  });
});

describe('idle connections that the nodes closed', () => {
  it.each([
    ['of one node', 1],
    ['of all nodes', 3],
  ])('%s make no request fail and log nothing', async (_, count) => {
    const { app, url } = await start({
      redis: { cluster: suite.cluster.nodes },
      onStoreError: 'deny',
    });
    lines.length = 0;
    expect((await fetch(url)).status).toBe(200);
    for (const { port } of suite.cluster.primaries.slice(0, count)) killConnections(port);
    const clients = Array.from({ length: 50 }, (__, i) => ({ 'x-client': `idle${i}`, 'x-tenant': `t${i}` }));
    const answers = await Promise.all(clients.map((headers) => fetch(url, { headers })));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(app.get(FreqLimitService).health().isUp).toBe(true);
    expect(lines).toEqual([]);
  });
});
