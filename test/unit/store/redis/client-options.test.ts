import { Cluster, Redis } from 'ioredis';
import { complaintsOf } from '../../../../src/store/redis/client-options.js';

const DISCARD = 'give it maxRetriesPerRequest: 0 and autoResendUnfulfilledCommands: false';
const FAILOVER = 'give it retryDelayOnFailover: 0';
const HANGING = 'give it socketTimeout: 500';

/** What is said of a client of ioredis with these options, which connects nowhere. */
function ofRedis(options: object): string[] {
  const client = new Redis({ ...options, lazyConnect: true });
  return complaintsOf(client);
}

function ofCluster(options: object): string[] {
  const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { ...options, lazyConnect: true });
  return complaintsOf(client);
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

const SAFE = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, socketTimeout: 500 };

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
    ['with safe options', { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 500 } }, []],
    ['that asks again', { redisOptions: { socketTimeout: 500 } }, [FAILOVER]],
    ['that holds on to a server', { retryDelayOnFailover: 0 }, [HANGING]],
    [
      'of which each node would send again, were it to reconnect',
      { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 500, maxRetriesPerRequest: 20 } },
      [],
    ],
    [
      'with the options of one server in the wrong place',
      { retryDelayOnFailover: 0, socketTimeout: 500 },
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
    expectComplaints(complaintsOf({ ...client, isCluster }), advice);
    expectComplaints(complaintsOf({ ...client, isCluster, options: undefined }), advice);
  });
});
