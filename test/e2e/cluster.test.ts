import { jest } from '@jest/globals';
import { Controller, Get, Logger } from '@nestjs/common';
import { Cluster } from 'ioredis';
import { createRequire } from 'node:module';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve } from '../support/app.js';
import { startCluster, type TestCluster, until } from '../support/cluster.js';
import { killConnections } from '../support/kill-connections.js';
import { keysOf, sweep, uniqueNamespace } from '../support/redis.js';

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

let cluster: TestCluster;
let plain: Cluster;
let namespace: string;
let lines: string[];

beforeAll(async () => {
  cluster = await startCluster();
  plain = new Cluster([...cluster.nodes]);
}, 60_000);
afterAll(async () => {
  await plain.quit();
  await cluster.stop();
});
beforeEach(() => {
  namespace = uniqueNamespace();
  lines = [];
  for (const level of ['error', 'warn'] as const) {
    jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => void lines.push(String(line)));
  }
});
afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
  expect(await sweep(plain, namespace)).toEqual([]);
});

function start(options: FreqLimitOptions, platform = PLATFORMS[0]!) {
  return serve(platform, {
    imports: [FreqLimitModule.forRoot({ namespace, timeoutMs: 5_000, ...options })],
    controllers: [Busy],
  });
}

/** What the primaries have counted since they started, by the first number behind a name in INFO. */
async function counted(section: string, name: RegExp): Promise<number> {
  const infos = await Promise.all(plain.nodes('master').map((node) => node.info(section)));
  return infos.reduce((sum, info) => sum + Number(name.exec(info)?.[1] ?? 0), 0);
}

describe.each(PLATFORMS)('five rules in five slots, on %s', (platform) => {
  it('let exactly the limit of each caller pass, without CROSSSLOT, by a call a slot', async () => {
    const { url } = await start({ redis: { cluster: cluster.nodes } }, platform);
    lines.length = 0;
    const [calls, crossed] = [/cmdstat_evalsha:calls=(\d+)/, /errorstat_CROSSSLOT:count=(\d+)/];
    const before = await counted('commandstats', calls);
    const callers = Array.from({ length: 100 }, (_, i) => `caller-${i}-{x}${i}`);
    const visits = callers.flatMap((caller) => [caller, caller, caller, caller, caller]);
    const answers = await Promise.all(
      visits.map(async (caller) => {
        const response = await fetch(url, { headers: { 'x-client': caller, 'x-tenant': `t${caller}` } });
        return [caller, response.status] as const;
      }),
    );
    const passes = answers.filter(([, status]) => status === 200);
    expect(answers.filter(([, status]) => status !== 200 && status !== 429)).toEqual([]);
    for (const caller of callers) expect(passes.filter(([one]) => one === caller)).toHaveLength(3);
    expect(await counted('errorstats', crossed)).toBe(0);
    // asked, and given back where the caller's own rule denied
    const asked = (await counted('commandstats', calls)) - before;
    expect(asked).toBeLessThanOrEqual(visits.length * 5 * 2);
    // what was denied has left nothing behind
    const [all] = (await keysOf(plain, namespace)).filter((key) => key.endsWith(':all'));
    expect(await plain.get(all!)).toBe('300');
    expect(lines).toEqual([]);
  });
});

describe('a client over its own limit', () => {
  const phone = { name: 'phone', key: '+15550100', window: '1h', limit: 1 } as const;
  const by = (address: string) => ({ name: 'address', key: address, window: '1h', limit: 3 }) as const;

  it.each([true, false])(
    'cannot lock out another client whose phone number it sends, with denyCache: %p',
    async (denyCache) => {
      const redis = { cluster: cluster.nodes };
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
      // the process learns from the first denial
      expect(await attack()).toBe(false);
      let isOver = false;
      const attacks = Array.from({ length: 10 }, async () => {
        while (!isOver) {
          expect(await attack()).toBe(false);
          // what is answered from memory lets nothing else run
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

describe('a caller who is over his limit', () => {
  it('costs the Cluster next to nothing, in however many slots his rules lie', async () => {
    const { app } = await start({ redis: { cluster: cluster.nodes } });
    const service = app.get(FreqLimitService);
    const visit = ['phone', 'address', 'agent', 'tenant'].map(
      (key, i) => ({ key, window: '1h', limit: i === 0 ? 3 : 1_000 }) as const,
    );
    for (let i = 0; i < 3; i++) expect((await service.consume(visit)).allowed).toBe(true);
    const calls = /cmdstat_evalsha:calls=(\d+)/;
    const before = await counted('commandstats', calls);
    const from = performance.now();
    for (let i = 0; i < 500; i++) {
      const { allowed, results } = await service.consume(visit);
      expect([allowed, ...results.map(({ used }) => used)]).toEqual([false, 3, 3, 3, 3]);
    }
    // once a second he is asked about, in four slots, and given back in three
    const rounds = 2 + Math.floor((performance.now() - from) / 1_000);
    expect((await counted('commandstats', calls)) - before).toBeLessThanOrEqual(7 * rounds);
  });
});

describe('a Cluster that was refused and lost', () => {
  it('is up again when it is, and says so', async () => {
    const { app } = await start({ redis: { cluster: cluster.nodes }, denyCache: false });
    const service = app.get(FreqLimitService);
    const visit = Array.from({ length: 12 }, (_, i) => ({ key: `k${i}`, window: '1h' }) as const);
    const primaries = plain.nodes('master');
    await Promise.all(primaries.map((node) => node.config('SET', 'min-replicas-to-write', 1)));
    expect((await service.consume(visit)).source).toBe('memory');
    expect(service.health()).toMatchObject({ isUp: false, reason: expect.stringContaining('NOREPLICAS') });
    await Promise.all(primaries.map((node) => node.client('KILL', 'TYPE', 'NORMAL').catch(() => undefined)));
    await Promise.all(
      cluster.primaries.map((node) => cluster.client(node).config('SET', 'min-replicas-to-write', 0)),
    );
    await until(async () => (await service.consume(visit)).source === 'store', 8_000);
    await until(() => service.health().isUp, 3_000);
    expect(lines.at(-1)).toMatch(/^FREQ_LIMIT_STORE_RECOVERED: Redis is available again/);
  });
});

describe('a Cluster client that is handed in', () => {
  // the other major version of the client, from another copy
  const other = createRequire(new URL('../../compat/nest-11/package.json', import.meta.url))('ioredis') as {
    Cluster: typeof Cluster;
  };
  const SAFE = { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 10_000 } };

  it.each([
    ['of this copy', Cluster, SAFE, 0],
    ['of another copy', other.Cluster, SAFE, 0],
    ['with the options it has by default', Cluster, {}, 2],
    ['with a prefix', Cluster, { ...SAFE, keyPrefix: 'app:' }, 0],
    ['with half a brace in its prefix', Cluster, { ...SAFE, keyPrefix: 'app{x:' }, 0],
    ['with a tag in its prefix', Cluster, { ...SAFE, keyPrefix: '{app}:' }, 0],
  ])('%s counts, and is left open', async (_, ClusterOfCopy, options, complaints) => {
    const client = new ClusterOfCopy([...cluster.nodes], options);
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
    expect(lines).toHaveLength(complaints);
    await closeApps();
    expect([client.status, await client.set('still-open', 1, 'PX', 1_000)]).toEqual(['ready', 'OK']);
    await client.quit();
  });

  it('is refused with a prefix that is no tag', () => {
    const client = new Cluster([...cluster.nodes], { keyPrefix: 'a{}:', lazyConnect: true });
    expect(() => FreqLimitModule.forRoot({ redis: client })).not.toThrow();
    return expect(start({ redis: client })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_OPTIONS',
      message: expect.stringMatching(/^FreqLimitModule: redis: keyPrefix: "a\{\}:" has empty braces/),
    });
  });
});

describe('hashTag', () => {
  it('puts a whole request in one slot, and into one call', async () => {
    const { app } = await start({
      redis: { cluster: cluster.nodes },
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
    expect(await keysOf(plain, namespace)).toEqual(
      checks.map(() => expect.stringMatching(new RegExp(`^${namespace}:\\{all\\}:service~`)) as string),
    );
  });

  it('is told off when it answers nonsense', async () => {
    const { app } = await start({ redis: { cluster: cluster.nodes }, hashTag: () => '{x}' });
    await expect(app.get(FreqLimitService).consume({ key: 'a', window: '1m' })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_RULE_FAILED',
      message: expect.stringContaining('hashTag returned "{x}"'),
    });
  });
});

describe('connections that the nodes have closed while they were idle', () => {
  it.each([
    ['of one node', 1],
    ['of all nodes', 3],
  ])('%s cost no request anything, and no line', async (_, count) => {
    const { app, url } = await start({
      redis: { cluster: cluster.nodes },
      onStoreError: 'deny',
    });
    lines.length = 0;
    expect((await fetch(url)).status).toBe(200);
    for (const { port } of cluster.primaries.slice(0, count)) killConnections(port);
    const callers = Array.from({ length: 50 }, (__, i) => ({ 'x-client': `idle${i}`, 'x-tenant': `t${i}` }));
    const answers = await Promise.all(callers.map((headers) => fetch(url, { headers })));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(app.get(FreqLimitService).health().isUp).toBe(true);
    expect(lines).toEqual([]);
  });
});
