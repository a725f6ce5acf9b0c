import { Redis } from 'ioredis';
import { Log } from '../../src/core/log.js';
import { readRedisOption } from '../../src/store/redis/check-redis-option.js';
import type { RedisOption } from 'nestjs-freq-limit';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from '../support/check.js';
import { until } from '../support/cluster.js';
import { type Server, startServer } from '../support/server.js';

const DATABASES = 2;
const MISSING_RIGHT = { username: 'limiter', password: 'p', db: 1 };
const OUT_OF_RANGE = { db: DATABASES };
/** A client that ioredis calls ready before its SELECT is answered. */
const HASTY = { enableReadyCheck: false, disableClientInfo: true };

interface Options {
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  readonly lazyConnect?: boolean;
  readonly enableReadyCheck?: boolean;
  readonly disableClientInfo?: boolean;
}

let server: Server;
let admin: Redis;
let lines: string[];
const stores: RedisStore[] = [];
const clients: Redis[] = [];

beforeAll(async () => {
  const user = ['--user', 'limiter', 'on', '>p', '~*', '+@all', '-select'];
  server = await startServer(['--databases', String(DATABASES), ...user]);
  admin = new Redis(server.port);
});
beforeEach(async () => {
  lines = [];
  await admin.flushall();
  await admin.acl('SETUSER', 'limiter', '-select');
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

async function storeOn(redis: RedisOption): Promise<RedisStore> {
  const note = (line: string): void => void lines.push(line);
  const options = { redis, namespace: 'fl', timeoutMs: 5_000, coalesce: true, placement: undefined };
  const store = await RedisStore.create(options, new Log({ log: note, warn: note, error: note }));
  stores.push(store);
  return store;
}

function client(options: Options): Redis {
  const made = new Redis({
    ...options,
    port: server.port,
    maxRetriesPerRequest: 0,
    socketTimeout: 5_000,
    retryStrategy: () => 50,
  });
  made.on('error', () => undefined);
  clients.push(made);
  return made;
}

/** The numbers of counters in the first database and in the configured one. */
async function counters(): Promise<number[]> {
  const info = await admin.info('keyspace');
  return [0, 1].map((db) => Number(new RegExp(`db${db}:keys=(\\d+)`).exec(info)?.[1] ?? 0));
}

const isReady = (one: Redis) => () => one.status === 'ready';

/** All ways to connect on which SELECT may fail. */
const WAYS: [string, (options: Options) => Promise<RedisOption> | RedisOption][] = [
  ['options', (options) => ({ host: '127.0.0.1', port: server.port, ...options })],
  ['options without a ready check', (options) => ({ port: server.port, ...options, ...HASTY })],
  ['a client that connects', client],
  ['a client that waits', (options) => client({ ...options, lazyConnect: true })],
  ['a client without a ready check', (options) => client({ ...options, ...HASTY })],
  [
    'a client that is ready',
    async (options) => {
      const one = client(options);
      await until(isReady(one));
      return one;
    },
  ],
];

describe.each(WAYS)('a database that the server denies, by %s', (_, reach) => {
  it.each([
    ['for a missing right', MISSING_RIGHT, 'grant +select to the Redis user'],
    ['for a database that does not exist', OUT_OF_RANGE, 'the server does not have this database'],
  ])('counts nothing in database 0 %s', async (_why, options, advice) => {
    const store = await storeOn(await reach(options));
    await store.open();
    for (let i = 0; i < 3; i++)
      await expect(store.consume([check('a')])).rejects.toMatchObject({ code: 'FREQ_LIMIT_STORE_FAILED' });
    expect(store.health()).toMatchObject({ isUp: false, reason: expect.stringContaining(advice) });
    const outages = lines.filter((line) => line.startsWith('FREQ_LIMIT_STORE_REFUSED: Redis is unavailable'));
    expect(outages).toEqual([expect.stringContaining(advice)]);
    expect(await counters()).toEqual([0, 0]);
  });

  it('is used as soon as the right is granted', async () => {
    const store = await storeOn(await reach(MISSING_RIGHT));
    await store.open();
    expect(store.health().isUp).toBe(false);
    await admin.acl('SETUSER', 'limiter', '+select');
    await until(() => store.health().isUp);
    expect(await store.consume([check('a')])).toMatchObject([{ allowed: true }]);
    expect(await counters()).toEqual([0, 1]);
  });

  it('counts nothing in database 0 if the server denies the database after a reconnect', async () => {
    await admin.acl('SETUSER', 'limiter', '+select');
    const store = await storeOn(await reach(MISSING_RIGHT));
    await store.open();
    await store.consume([check('a', { limit: 1_000_000 })]);
    await admin.acl('SETUSER', 'limiter', '-select');
    await admin.client('KILL', 'USER', 'limiter');
    await until(async () => {
      await store.consume([check('a', { limit: 1_000_000 })]).catch(() => undefined);
      return store.health().reason?.includes('+select') ?? false;
    });
    expect(lines.filter((line) => line.includes('+select'))).toHaveLength(1);
    expect(await counters()).toEqual([0, 1]);
  });
});

it('a ready client that the application moved to another database is used', async () => {
  const moved = client({ db: 1 });
  await moved.select(0);
  const store = await storeOn(moved);
  await store.open();
  await store.consume([check('a')]);
  expect(await counters()).toEqual([1, 0]);
});

it('a password that is wrong after a reconnect is reported', async () => {
  await admin.acl('SETUSER', 'limiter', '+select');
  const store = await storeOn({ port: server.port, ...MISSING_RIGHT });
  await store.open();
  await admin.acl('SETUSER', 'limiter', 'resetpass', '>q');
  await admin.client('KILL', 'USER', 'limiter');
  await until(() => store.health().reason?.includes('check the user name and the password') ?? false);
  expect(lines.filter((line) => line.includes('check the user name and the password'))).toHaveLength(1);
  await admin.acl('SETUSER', 'limiter', '>p');
  await until(() => store.health().isUp);
});

it('a database can come from a getter of a configuration class', async () => {
  class Config {
    get port() {
      return server.port;
    }
    get db() {
      return Number('1');
    }
  }
  const store = await storeOn(readRedisOption(new Config()));
  await store.open();
  await store.consume([check('a')]);
  expect(await counters()).toEqual([0, 1]);
});
