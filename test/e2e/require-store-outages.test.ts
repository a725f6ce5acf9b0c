import { once } from 'node:events';
import { FreqLimitService, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { startCluster, type TestCluster, until } from '../support/cluster.js';
import { captureLog, logLine } from '../support/log.js';
import { startOddServer } from '../support/odd-server.js';
import { uniqueNamespace } from '../support/redis.js';
import { freePort, type Server, startServer, UNKNOWN_HOST } from '../support/server.js';
import { startSentinels, type TestSentinels } from '../support/sentinel.js';
import { CERTIFICATE, startTlsPort, type TlsPort } from '../support/tls.js';
import { startTypeScript } from '../support/typescript-process.js';

type RedisOption = FreqLimitOptions['redis'];

const log = captureLog();
const USER = ['--user', 'limiter', 'on', '>p', '~*', '+@all', '-incr'];
let plain: Server;
let withoutSlots: Server;
let full: Server;
let cluster: TestCluster;
let sentinels: TestSentinels;
let tls: TlsPort;

beforeAll(async () => {
  plain = await startServer(USER);
  withoutSlots = await startServer(['--cluster-enabled', 'yes']);
  full = await startServer(['--maxmemory', '1', '--maxmemory-policy', 'noeviction']);
  [cluster, sentinels, tls] = await Promise.all([
    startCluster({ primaries: 1, args: ['--cluster-announce-ip', '127.0.0.1'] }),
    startSentinels(),
    startTlsPort(plain.port),
  ]);
});
afterEach(closeApps);
afterAll(async () => {
  await tls.stop();
  await Promise.all([cluster, sentinels, plain, withoutSlots, full].map((one) => one.stop()));
});

/** A user that may not run INCR. */
const limiter = () => ({ port: plain.port, username: 'limiter', password: 'p' });

describe('requireStore, for a store that can count', () => {
  it.each<[string, () => RedisOption]>([
    ['a server', () => `redis://127.0.0.1:${plain.port}/1`],
    ['a server with TLS', () => ({ host: '127.0.0.1', port: tls.port, tls: { ca: CERTIFICATE } })],
    ['a Cluster', () => ({ cluster: cluster.nodes })],
    ['sentinels', () => ({ sentinels: sentinels.sentinels, name: sentinels.name })],
  ])('%s starts the application', async (_, redis) => {
    const namespace = uniqueNamespace();
    const { app } = await startApp('express', {
      limits: { requireStore: true, redis: redis(), namespace, timeoutMs: 5_000 },
    });
    const service = app.get(FreqLimitService);
    expect(service.health()).toMatchObject({ isUp: true, reason: undefined });
    expect((await service.consume({ key: 'x', window: '1m', limit: 1 })).source).toBe('store');
    expect(log.lines).toEqual([]);
  });
});

describe('requireStore, for an outage', () => {
  /** Starts although the store does not answer. */
  async function start(redis: RedisOption): Promise<FreqLimitService> {
    const { app } = await startApp('express', {
      limits: { requireStore: true, redis, namespace: uniqueNamespace() },
    });
    return app.get(FreqLimitService);
  }

  it.each<[string, () => Promise<RedisOption>, string | undefined]>([
    ['a refused connection', async () => ({ port: await freePort() }), 'ECONNREFUSED'],
    ['a missing unix socket', async () => ({ path: '/tmp/no-such-freq-limit.sock' }), 'ENOENT'],
    [
      'sentinels that are down',
      async () => ({ sentinels: [{ host: '127.0.0.1', port: await freePort() }], name: 'counters' }),
      'ECONNREFUSED',
    ],
    [
      'a Cluster that is down',
      async () => ({ cluster: [{ host: '127.0.0.1', port: await freePort() }] }),
      'ECONNREFUSED',
    ],
    [
      'a DNS that does not answer',
      async () => {
        const error = Object.assign(new Error('getaddrinfo EAI_AGAIN redis'), { code: 'EAI_AGAIN' });
        return {
          cluster: ['redis://redis:7000'],
          options: {
            dnsLookup: (_: string, done: (error: Error, address: string) => void) => {
              done(error, '');
            },
          },
        };
      },
      'EAI_AGAIN',
    ],
    [
      'a Cluster without slots',
      async () => ({ cluster: [{ host: '127.0.0.1', port: withoutSlots.port }] }),
      undefined,
    ],
    ['a full Redis', async () => ({ port: full.port }), undefined],
  ])('%s starts the application as without it', async (_, redis, expected) => {
    const service = await start(await redis());
    const { isUp, reason = '' } = service.health();
    expect([isUp, reason]).toEqual([expected === undefined, expect.stringContaining(expected ?? '')]);
    const outage = logLine('FREQ_LIMIT_STORE_UNAVAILABLE', 'Redis is unavailable');
    expect(log.lines).toEqual(expected === undefined ? [] : [outage]);
    expect((await service.consume({ key: 'x', window: '1m', limit: 1 })).allowed).toBe(true);
  });

  it.each([
    ['LOADING Redis is loading the dataset in memory'],
    ['MASTERDOWN Link with MASTER is down'],
    ['CLUSTERDOWN The cluster is down'],
    ['BUSY Redis is busy running a script'],
  ])('a server that answers %s starts the application', async (answer) => {
    const server = await startOddServer((socket) => void socket.write(`-${answer}\r\n`));
    try {
      await start(server.url);
      expect(server.scripts).toBeGreaterThan(0);
    } finally {
      await closeApps();
      await server.stop();
    }
  });

  it('a server that hangs starts the application within some seconds, and is used when it is back', async () => {
    const server = await startServer();
    try {
      server.process.kill('SIGSTOP');
      const service = await start(server.url);
      expect(service.health()).toMatchObject({ isUp: false });
      server.process.kill('SIGCONT');
      await until(() => service.health().isUp);
      expect(log.lines).toEqual([
        logLine('FREQ_LIMIT_STORE_UNAVAILABLE', 'Redis is unavailable'),
        logLine('FREQ_LIMIT_STORE_RECOVERED', 'Redis is available again'),
      ]);
    } finally {
      await closeApps();
      await server.stop();
    }
  }, 60_000);
});

describe('without requireStore', () => {
  it.each<[string, () => RedisOption]>([
    ['a wrong password', () => ({ ...limiter(), password: 'wrong' })],
    ['a missing right', () => limiter()],
    ['a host that does not exist', () => `redis://${UNKNOWN_HOST}`],
  ])('%s does not stop the start', async (_, redis) => {
    const { app } = await startApp('express', { limits: { redis: redis() } });
    const service = app.get(FreqLimitService);
    expect((await service.consume({ key: 'x', window: '1m', limit: 1 })).source).toBe('memory');
    expect(service.health().isUp).toBe(false);
  });
});

describe('a process whose start requireStore has stopped', () => {
  it.each<[string, () => RedisOption]>([
    ['a wrong password', () => ({ ...limiter(), password: 'wrong' })],
    ['a missing right', () => limiter()],
    ['a host that does not exist', () => `redis://${UNKNOWN_HOST}`],
    ['TLS against a port without it', () => `rediss://127.0.0.1:${plain.port}`],
    ['a name that the sentinels do not know', () => ({ sentinels: sentinels.sentinels, name: 'nothing' })],
    ['a server as a Cluster', () => ({ cluster: [plain.port] })],
  ])('ends by itself: %s', async (_, redis) => {
    const file = new URL('require-store-process.ts', import.meta.url);
    const run = startTypeScript(file, [JSON.stringify({ requireStore: true, redis: redis() })]);
    try {
      expect(await run.nextMessage()).toBe('FREQ_LIMIT_STORE_FAILED');
      if (run.process.exitCode === null) await once(run.process, 'exit');
      expect([run.process.exitCode, run.process.signalCode]).toEqual([1, null]);
    } finally {
      await run.stop();
    }
  });
});
