import { Redis } from 'ioredis';
import { FreqLimitService, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog, logLine } from '../support/log.js';
import { uniqueNamespace } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';

const log = captureLog();
let server: Server;
let admin: Redis;

beforeEach(async () => {
  server = await startServer(['--databases', '4', '--user', 'limiter', 'on', '>p', '~*', '+@all']);
  admin = adminOf(server.port);
});
afterEach(async () => {
  await closeApps();
  admin.disconnect();
  await server.stop();
});

function adminOf(port: number): Redis {
  const made = new Redis({ port, retryStrategy: () => 50, disconnectTimeout: 50 });
  made.on('error', () => undefined);
  return made;
}

async function start(redis: FreqLimitOptions['redis']): Promise<FreqLimitService> {
  const { app } = await startApp('express', {
    limits: { redis, namespace: uniqueNamespace(), timeoutMs: 5_000 },
  });
  const service = app.get(FreqLimitService);
  expect(await charge(service)).toBe('store');
  return service;
}

async function charge(service: FreqLimitService, key = 'x'): Promise<unknown> {
  const { source } = await service.consume({ key, window: '1h', limit: 1_000_000 });
  return source;
}

/** Waits until a reason is reported, while requests are decided. */
async function untilReason(service: FreqLimitService, reason: string): Promise<void> {
  await until(async () => {
    await charge(service);
    return service.health().reason?.includes(reason) ?? false;
  });
}

async function untilUp(service: FreqLimitService): Promise<void> {
  await until(() => service.health().isUp);
  expect(await charge(service)).toBe('store');
}

/** The lines of the outage: it is refused, and later recovers. */
function expectRefusedOnce(reason: string): void {
  expect(log.withCode('FREQ_LIMIT_STORE_REFUSED')).toEqual([expect.stringContaining(reason)]);
  expect(log.lines.at(-1)).toEqual(logLine('FREQ_LIMIT_STORE_RECOVERED', 'Redis is available again'));
  expect(log.lines.length).toBeLessThanOrEqual(3);
}

const LIMITER = { username: 'limiter', password: 'p' };
const options = () => ({ port: server.port, ...LIMITER, db: 1 });

describe('a connection that was ready', () => {
  it.each<[string, string[], string[], string]>([
    ['the password is rotated', ['resetpass', '>q'], ['>p'], 'WRONGPASS'],
    ['the user is disabled', ['off'], ['on'], 'WRONGPASS'],
    ['the right to SELECT is revoked', ['-select'], ['+select'], 'grant +select'],
  ])(
    'is refused after a reconnect if %s, and used again when that is undone',
    async (_, change, undo, reason) => {
      const service = await start(options());
      await admin.acl('SETUSER', 'limiter', ...change);
      await admin.client('KILL', 'USER', 'limiter');
      await untilReason(service, reason);
      await admin.acl('SETUSER', 'limiter', ...undo);
      await untilUp(service);
      expectRefusedOnce(reason);
      expect(await admin.dbsize()).toBe(0);
    },
  );

  it.each<[string, string[], string[], string]>([
    ['the right to run scripts is revoked', ['-evalsha'], ['+evalsha'], 'evalsha'],
    [
      'the right to a command of the script is revoked',
      ['-incr'],
      ['+incr'],
      'the Redis user lacks a permission',
    ],
    ['the right to the keys is revoked', ['resetkeys'], ['~*'], 'the Redis user lacks a permission'],
  ])('is refused at once if %s, and used again when that is undone', async (_, change, undo, reason) => {
    const service = await start(options());
    await admin.acl('SETUSER', 'limiter', ...change);
    await untilReason(service, reason);
    await admin.acl('SETUSER', 'limiter', ...undo);
    await untilUp(service);
    expectRefusedOnce(reason);
  });

  it('is refused if the user is deleted', async () => {
    const service = await start(options());
    await admin.acl('DELUSER', 'limiter');
    await untilReason(service, 'WRONGPASS');
    await admin.acl('SETUSER', 'limiter', 'on', '>p', '~*', '+@all');
    await untilUp(service);
    expectRefusedOnce('WRONGPASS');
  });

  it('counts nothing in database 0 if the server has fewer databases after a restart', async () => {
    const service = await start({ port: server.port, db: 3 });
    const { port } = server;
    await server.stop();
    server = await startServer(['--databases', '2'], port);
    await untilReason(service, 'the server does not have this database');
    expect(await admin.dbsize()).toBe(0);
    await server.stop();
    server = await startServer(['--databases', '4'], port);
    await untilUp(service);
    expectRefusedOnce('the server does not have this database');
    expect(await admin.dbsize()).toBe(0);
  });

  it('is refused if the server wants a password after a restart', async () => {
    const service = await start(`redis://127.0.0.1:${server.port}`);
    const { port } = server;
    await server.stop();
    server = await startServer(['--requirepass', 'secret'], port);
    await untilReason(service, 'the server needs a password');
    await server.stop();
    server = await startServer([], port);
    await untilUp(service);
    expectRefusedOnce('NOAUTH');
  });

  it('of a client that was passed is refused after a reconnect, and used again', async () => {
    const client = new Redis({
      ...options(),
      maxRetriesPerRequest: 0,
      disconnectTimeout: 50,
      retryStrategy: () => 50,
    });
    client.on('error', () => undefined);
    try {
      const service = await start(client);
      await admin.acl('SETUSER', 'limiter', 'resetpass', '>q');
      await admin.client('KILL', 'USER', 'limiter');
      await untilReason(service, 'WRONGPASS');
      await admin.acl('SETUSER', 'limiter', '>p');
      await untilUp(service);
      expectRefusedOnce('WRONGPASS');
    } finally {
      await closeApps();
      await client.quit();
    }
  });
});
