import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { FreqLimitService, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog, logLine } from '../support/log.js';
import { uniqueNamespace } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';
import { CERTIFICATE, startTlsPort, type TlsPort } from '../support/tls.js';

type RedisOption = FreqLimitOptions['redis'];

interface Options {
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly tls?: object;
  readonly connectionName?: string;
  readonly clientInfoTag?: string;
  readonly readOnly?: boolean;
}

const HOST = '127.0.0.1';
const RIGHTS = { noclient: '-client', noinfo: '-info', nohello: '-hello' };
const log = captureLog();
const clients: Redis[] = [];
let open: Server;
let closed: Server;
let bare: Server;
let withoutInfo: Server;
let tls: TlsPort;

beforeAll(async () => {
  const users = Object.entries(RIGHTS).flatMap(([name, right]) => [
    '--user',
    name,
    'on',
    '>p',
    '~*',
    '+@all',
    right,
  ]);
  const renamed = (...commands: string[]): Promise<Server> =>
    startServer(commands.flatMap((command) => ['--rename-command', command, '']));
  open = await startServer(users);
  closed = await startServer(['--requirepass', 'secret']);
  bare = await renamed('AUTH', 'HELLO', 'CLIENT');
  withoutInfo = await renamed('INFO');
  tls = await startTlsPort(open.port);
  // ioredis warns on the console of what it ignores
  jest.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(async () => {
  await closeApps();
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(async () => {
  jest.restoreAllMocks();
  await tls.stop();
  await Promise.all([open, closed, bare, withoutInfo].map((server) => server.stop()));
});

function client(options: Options & { readonly lazyConnect?: boolean }): Redis {
  const made = new Redis({
    host: HOST,
    ...options,
    maxRetriesPerRequest: 0,
    disconnectTimeout: 50,
    retryStrategy: () => 50,
  });
  made.on('error', () => undefined);
  clients.push(made);
  return made;
}

/** The ways to give these options. */
const WAYS: [string, (options: Options) => Promise<RedisOption>][] = [
  [
    'a URL',
    async ({ port, username = '', password = '', db = 0, tls: usesTls }) => {
      const auth = username + password === '' ? '' : `${username}:${password}@`;
      return `${usesTls === undefined ? 'redis' : 'rediss'}://${auth}${HOST}:${port}/${db}`;
    },
  ],
  ['options', async (options) => ({ host: HOST, ...options })],
  ['a client that waits', async (options) => client({ ...options, lazyConnect: true })],
  [
    'a client that has tried to connect',
    async (options) => {
      const made = client(options);
      await until(
        () => made.status === 'ready' || made.status === 'reconnecting' || options.tls !== undefined,
      );
      return made;
    },
  ],
];

async function start(redis: RedisOption): Promise<FreqLimitService> {
  const { app } = await startApp('express', {
    limits: { redis, namespace: uniqueNamespace(), timeoutMs: 5_000 },
  });
  log.lines.splice(
    0,
    log.lines.length,
    ...log.lines.filter((line) => !line.startsWith('FREQ_LIMIT_CLIENT_OPTIONS')),
  );
  return app.get(FreqLimitService);
}

async function charge(service: FreqLimitService, times = 3): Promise<Set<unknown>> {
  const sources = new Set<unknown>();
  for (let i = 0; i < times; i++)
    sources.add((await service.consume({ key: 'x', window: '1m', limit: 10 })).source);
  return sources;
}

/** How many keys a server has. */
async function keys(server: Server, password?: string): Promise<number> {
  const admin = client({ port: server.port, ...(password !== undefined && { password }) });
  return admin.dbsize();
}

describe.each(WAYS)('by %s', (_way, reach) => {
  beforeEach(async () => {
    await client({ port: open.port }).flushall();
  });

  it.each<[string, () => Options, string]>([
    [
      'a wrong password',
      () => ({ port: closed.port, password: 'wrong' }),
      'WRONGPASS invalid username-password pair or user is disabled. (check the user name and the password)',
    ],
    [
      'a user that does not exist',
      () => ({ port: open.port, username: 'stranger', password: 'p' }),
      'WRONGPASS invalid username-password pair or user is disabled. (check the user name and the password)',
    ],
    [
      'no password',
      () => ({ port: closed.port }),
      'NOAUTH Authentication required. (the server needs a password',
    ],
    [
      'AUTH disabled',
      () => ({ port: bare.port, password: 'p' }),
      "ERR unknown command 'auth' (AUTH is renamed or disabled on the server",
    ],
    [
      'INFO disabled',
      () => ({ port: withoutInfo.port }),
      "ERR unknown command 'info' (INFO is renamed or disabled on the server",
    ],
  ])('%s keeps the store down, with the reason in one line', async (_, options, reason) => {
    const service = await start(await reach(options()));
    expect(await charge(service)).toEqual(new Set(['memory']));
    const { isUp, reason: shown = '' } = service.health();
    expect(isUp).toBe(false);
    expect(shown.toLowerCase()).toContain(`redis refused the connection: ${reason}`.toLowerCase());
    expect(log.lines).toEqual([
      logLine(
        'FREQ_LIMIT_STORE_REFUSED',
        `Redis is unavailable; applying onStoreError until it recovers: ${shown}`,
      ),
    ]);
    expect([await keys(open), await keys(closed, 'secret')]).toEqual([0, 0]);
  });

  it.each<[string, () => Options, string]>([
    [
      'no TLS on a port with it',
      () => ({ port: tls.port }),
      'the port expects TLS (use a URL that begins with rediss://',
    ],
    [
      'TLS on a port without it',
      () => ({ port: open.port, tls: {} }),
      'the port does not use TLS (use a URL that begins with redis://',
    ],
    [
      'a certificate that is not trusted',
      () => ({ port: tls.port, tls: {} }),
      'the certificate of the server is not trusted: set tls: { ca }',
    ],
  ])('%s keeps the store down, with the reason in one line', async (_, options, reason) => {
    const service = await start(await reach(options()));
    expect(await charge(service)).toEqual(new Set(['memory']));
    const { isUp, reason: shown = '' } = service.health();
    expect([isUp, shown]).toEqual([false, expect.stringContaining(reason)]);
    expect(log.lines).toEqual([
      logLine(
        'FREQ_LIMIT_STORE_UNAVAILABLE',
        `Redis is unavailable; applying onStoreError until it recovers: ${shown}`,
      ),
    ]);
  });

  it.each<[string, () => Options]>([
    ['a password for a server without one', () => ({ port: open.port, password: 'p' })],
    ['HELLO disabled', () => ({ port: bare.port })],
    ['HELLO denied', () => ({ port: open.port, username: 'nohello', password: 'p' })],
    ['CLIENT disabled', () => ({ port: bare.port, connectionName: 'limiter', clientInfoTag: 'tag' })],
    [
      'CLIENT denied',
      () => ({ port: open.port, username: 'noclient', password: 'p', connectionName: 'limiter' }),
    ],
    ['a connectionName that the server denies', () => ({ port: open.port, connectionName: 'has a space' })],
    ['INFO denied', () => ({ port: open.port, username: 'noinfo', password: 'p' })],
    ['READONLY on a server that is not part of a Cluster', () => ({ port: open.port, readOnly: true })],
    ['a database', () => ({ port: open.port, db: 3 })],
  ])('%s is harmless: the store counts', async (_, options) => {
    const service = await start(await reach(options()));
    expect(await charge(service)).toEqual(new Set(['store']));
    expect(service.health()).toMatchObject({ isUp: true, reason: undefined });
    expect(log.lines).toEqual([]);
  });
});

it('TLS with a trusted certificate counts', async () => {
  const service = await start({ host: HOST, port: tls.port, tls: { ca: CERTIFICATE } });
  expect(await charge(service)).toEqual(new Set(['store']));
});
