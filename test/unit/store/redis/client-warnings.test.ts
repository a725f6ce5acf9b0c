import { Cluster, Redis } from 'ioredis';
import { clientWarnings } from '../../../../src/store/redis/client-warnings.js';

const DISCARD = 'give it maxRetriesPerRequest: 0 and autoResendUnfulfilledCommands: false';
const FAILOVER = 'give it retryDelayOnFailover: 0';
const HANGING = 'give it socketTimeout: 10000';

/** What is said of a client of ioredis with these options, which connects nowhere. */
function ofRedis(options: object): string[] {
  const client = new Redis({ ...options, lazyConnect: true });
  return clientWarnings(client);
}

function ofCluster(options: object): string[] {
  const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { ...options, lazyConnect: true });
  return clientWarnings(client);
}

function expectComplaints(complaints: readonly string[], advice: readonly string[]): void {
  expect(complaints).toHaveLength(advice.length);
  for (const [i, complaint] of complaints.entries()) {
    expect(complaint).toContain(advice[i]);
    expect(complaint).toMatch(
      /^redis: the client handed in .+: give it .+, or give a URL or options instead$/,
    );
    expect(complaint).not.toContain('\n');
  }
}

const SAFE = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, socketTimeout: 10_000 };

describe('what is said of a client of one server', () => {
  it.each<[string, object, string[]]>([
    ['with the defaults of ioredis', {}, [DISCARD, HANGING]],
    ['with safe options', SAFE, []],
    ['that never sends again', { ...SAFE, maxRetriesPerRequest: 20 }, []],
    ['that rejects at once', { ...SAFE, autoResendUnfulfilledCommands: true }, []],
    [
      'that retries for ever',
      { ...SAFE, maxRetriesPerRequest: null, autoResendUnfulfilledCommands: true },
      [DISCARD],
    ],
    [
      'that retries once',
      { ...SAFE, maxRetriesPerRequest: 1, autoResendUnfulfilledCommands: true },
      [DISCARD],
    ],
    ['that fails after a short time', { ...SAFE, socketTimeout: 4_999 }, ['give it socketTimeout: 10000']],
    [
      'that fails a call after a short time',
      { ...SAFE, commandTimeout: 500 },
      ['give it commandTimeout: 10000'],
    ],
    ['that is patient', { ...SAFE, socketTimeout: 5_000, commandTimeout: 5_000, connectTimeout: 1 }, []],
    ['without a socketTimeout', { maxRetriesPerRequest: 0 }, [HANGING]],
    ['that queues for later', { ...SAFE, enableOfflineQueue: true }, []],
  ])('%s', (_, options, advice) => {
    expectComplaints(ofRedis(options), advice);
  });

  it('never tells a password', () => {
    expect(ofRedis({ username: 'user', password: 'secret', host: 'example.org' }).join()).not.toMatch(
      /secret|user:|example/,
    );
  });
});

describe('what is said of a Cluster', () => {
  it.each<[string, object, string[]]>([
    ['with the defaults of ioredis', {}, [FAILOVER, HANGING]],
    ['with safe options', { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 10_000 } }, []],
    ['that asks again', { redisOptions: { socketTimeout: 10_000 } }, [FAILOVER]],
    ['that holds on to a server', { retryDelayOnFailover: 0 }, [HANGING]],
    [
      'of which each node would send again, were it to reconnect',
      { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 10_000, maxRetriesPerRequest: 20 } },
      [],
    ],
    [
      'with the options of one server in the wrong place',
      { retryDelayOnFailover: 0, socketTimeout: 10_000 },
      [HANGING],
    ],
  ])('%s', (_, options, advice) => {
    expectComplaints(ofCluster(options), advice);
  });
});

describe('what is said of a client of another copy', () => {
  const method = async (): Promise<unknown> => undefined;
  const client = { status: 'ready', evalsha: method, eval: method, del: method };

  it.each([
    [false, [DISCARD, HANGING]],
    [true, [FAILOVER, HANGING]],
  ])('that shows no options, the worst (a Cluster: %p)', (isCluster, advice) => {
    expectComplaints(clientWarnings({ ...client, isCluster }), advice);
    expectComplaints(clientWarnings({ ...client, isCluster, options: undefined }), advice);
  });
});
