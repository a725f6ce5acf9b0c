import { jest } from '@jest/globals';
import { FreqLimitService, type FreqLimitOptions } from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { startCluster, type TestCluster, until } from '../support/cluster.js';
import { captureLog, logLine } from '../support/log.js';
import { plainClient, uniqueNamespace } from '../support/redis.js';
import { startSentinels, type TestSentinels } from '../support/sentinel.js';

type RedisOption = FreqLimitOptions['redis'];

const log = captureLog();

beforeAll(() => {
  // ioredis warns on the console of a password that the server does not need
  jest.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(closeApps);
afterAll(() => {
  jest.restoreAllMocks();
});

async function start(redis: RedisOption): Promise<FreqLimitService> {
  const { app } = await startApp('express', {
    limits: { redis, namespace: uniqueNamespace(), timeoutMs: 5_000 },
  });
  return app.get(FreqLimitService);
}

/** Charges counters in many slots. */
async function charge(service: FreqLimitService): Promise<Set<unknown>> {
  const checks = Array.from(
    { length: 40 },
    (_, i) => ({ key: `k${i}`, window: '1h', limit: 1_000_000 }) as const,
  );
  return new Set(
    (await Promise.all(checks.map((check) => service.consume(check)))).map(({ source }) => source),
  );
}

/** The store is down for this reason, and the log has it in one line. */
async function expectRefused(service: FreqLimitService, reason: string): Promise<void> {
  await until(async () => (await charge(service)).has('memory') && !service.health().isUp);
  const { reason: shown = '' } = service.health();
  expect(shown).toContain(reason);
  expect(log.lines).toEqual([
    logLine(
      'FREQ_LIMIT_STORE_REFUSED',
      `Redis is unavailable; applying onStoreError until it recovers: ${shown}`,
    ),
  ]);
}

describe('sentinels', () => {
  let sentinels: TestSentinels;
  let group: { readonly sentinels: TestSentinels['sentinels']; readonly name: string };

  beforeAll(async () => {
    sentinels = await startSentinels(['--databases', '2']);
    const [first] = sentinels.sentinels;
    // the other sentinels need none, so they are left out
    group = { sentinels: first === undefined ? [] : [first], name: sentinels.name };
  });
  afterAll(() => sentinels.stop());

  /** Changes a server or a sentinel for the time of a test. */
  async function withCommand(
    port: number,
    command: string[],
    undo: string[],
    test: () => Promise<void>,
  ): Promise<void> {
    const admin = plainClient(`redis://127.0.0.1:${port}`);
    try {
      await admin.call(command[0] ?? '', ...command.slice(1));
      await test();
      await closeApps();
    } finally {
      await admin.call(undo[0] ?? '', ...undo.slice(1));
      admin.disconnect();
    }
  }
  const password = (word: string) => ['ACL', 'SETUSER', 'default', 'resetpass', `>${word}`];
  const noPassword = ['ACL', 'SETUSER', 'default', 'nopass'];
  const sentinelPort = () => group.sentinels[0]?.port ?? 0;

  it.each<[string, object]>([
    ['no password', {}],
    ['a wrong password', { sentinelPassword: 'wrong' }],
  ])('%s for the sentinels is reported', async (_, options) => {
    await withCommand(sentinelPort(), password('secret'), noPassword, async () => {
      const service = await start({ ...group, updateSentinels: false, ...options });
      await expectRefused(service, 'check sentinelUsername and sentinelPassword');
    });
  });

  it('the right password for the sentinels counts, and so does one that they do not need', async () => {
    await withCommand(sentinelPort(), password('secret'), noPassword, async () => {
      expect(
        await charge(await start({ ...group, updateSentinels: false, sentinelPassword: 'secret' })),
      ).toEqual(new Set(['store']));
    });
    expect(
      await charge(await start({ ...group, updateSentinels: false, sentinelPassword: 'secret' })),
    ).toEqual(new Set(['store']));
    expect(log.lines).toEqual([]);
  });

  it('a wrong password for the primary is reported', async () => {
    const service = await start({ ...group, username: 'stranger', password: 'wrong' });
    await expectRefused(service, 'WRONGPASS');
  });

  it('a database that the primary does not have is reported', async () => {
    await expectRefused(await start({ ...group, db: 2 }), 'the server does not have this database');
  });

  it('a name that they do not know is reported', async () => {
    const service = await start({ ...group, name: 'nothing' });
    expect(service.health()).toMatchObject({
      isUp: false,
      reason: expect.stringContaining('set name to the name in the configuration of the sentinels'),
    });
    expect(log.lines).toEqual([logLine('FREQ_LIMIT_STORE_UNAVAILABLE', /.*No such master/)]);
  });
});

describe('a Cluster', () => {
  let cluster: TestCluster;
  const nodes = () => cluster.nodes.map(({ host, port }) => `redis://${host}:${port}`);

  beforeAll(async () => {
    cluster = await startCluster();
    await setPassword('secret', ...cluster.primaries);
  });
  afterAll(() => cluster.stop());

  async function setPassword(word: string, ...servers: TestCluster['primaries'][number][]): Promise<void> {
    await Promise.all(servers.map((server) => cluster.client(server).config('SET', 'requirepass', word)));
  }

  it.each<[string, object]>([
    ['no password', {}],
    ['a wrong password', { password: 'wrong' }],
    ['a user that does not exist', { username: 'stranger', password: 'secret' }],
  ])('%s is reported', async (_, redisOptions) => {
    await expectRefused(
      await start({ cluster: nodes(), options: { redisOptions } }),
      'check the user name and the password',
    );
  });

  it('uses the password in the URL of one node for all of them', async () => {
    const [first] = cluster.nodes;
    const service = await start({ cluster: [`redis://:secret@127.0.0.1:${first?.port}`] });
    expect(await charge(service)).toEqual(new Set(['store']));
    expect(log.lines).toEqual([]);
  });

  it('counts on the other nodes if one has another password, and on all when that is fixed', async () => {
    const [, , last] = cluster.primaries as [unknown, unknown, TestCluster['primaries'][number]];
    await setPassword('other', last);
    try {
      const service = await start({ cluster: nodes(), options: { redisOptions: { password: 'secret' } } });
      await until(
        async () => service.health().reason?.includes('WRONGPASS') ?? (await charge(service), false),
      );
      expect(await charge(service)).toEqual(new Set(['store', 'memory']));
      expect(log.lines).toEqual([
        logLine('FREQ_LIMIT_STORE_REFUSED', /.*Redis refused the connection: WRONGPASS/),
      ]);
      await setPassword('secret', last);
      await until(async () => !(await charge(service)).has('memory'));
      await until(() => service.health().isUp);
    } finally {
      await setPassword('secret', last);
    }
  });

  it('counts with a password that its servers do not need, and with READONLY', async () => {
    await setPassword('', ...cluster.primaries);
    try {
      const redisOptions = { password: 'secret', connectionName: 'has a space', readOnly: true };
      expect(await charge(await start({ cluster: nodes(), options: { redisOptions } }))).toEqual(
        new Set(['store']),
      );
      expect(log.lines).toEqual([]);
    } finally {
      await closeApps();
      await setPassword('secret', ...cluster.primaries);
    }
  });
});
