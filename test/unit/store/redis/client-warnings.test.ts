import { Cluster, Redis } from 'ioredis';
import { clientWarnings } from '../../../../src/store/redis/client-warnings.js';

const DISCARD = 'Create it with maxRetriesPerRequest: 0 and autoResendUnfulfilledCommands: false,';
const FAILOVER = 'Create it with retryDelayOnFailover: 0,';
const HANGING = 'Create it with socketTimeout: 10000,';

/** The warnings for a client of ioredis with these options, which does not connect. */
function ofRedis(options: object): string[] {
  const client = new Redis({ ...options, lazyConnect: true });
  return clientWarnings(client);
}

function ofCluster(options: object): string[] {
  const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { ...options, lazyConnect: true });
  return clientWarnings(client);
}

function expectWarnings(warnings: readonly string[], advice: readonly string[]): void {
  expect(warnings).toHaveLength(advice.length);
  for (const [i, warning] of warnings.entries()) {
    expect(warning).toContain(advice[i]);
    expect(warning).toMatch(
      /^The client in the option redis .+\. Create it with .+, or set redis to a URL or options\.$/,
    );
    expect(warning).not.toContain('\n');
  }
}

const SAFE = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, socketTimeout: 10_000 };

describe('the warnings for a client of one server', () => {
  it.each<[string, object, string[]]>([
    ['with the defaults of ioredis', {}, [DISCARD, HANGING]],
    ['with safe options', SAFE, []],
    ['that never resends', { ...SAFE, maxRetriesPerRequest: 20 }, []],
    ['that rejects unanswered commands', { ...SAFE, autoResendUnfulfilledCommands: true }, []],
    [
      'that retries forever',
      { ...SAFE, maxRetriesPerRequest: null, autoResendUnfulfilledCommands: true },
      [DISCARD],
    ],
    [
      'that retries once',
      { ...SAFE, maxRetriesPerRequest: 1, autoResendUnfulfilledCommands: true },
      [DISCARD],
    ],
    [
      'with a short socketTimeout',
      { ...SAFE, socketTimeout: 4_999 },
      ['Create it with socketTimeout: 10000,'],
    ],
    [
      'with a short commandTimeout',
      { ...SAFE, commandTimeout: 500 },
      ['Create it with commandTimeout: 10000,'],
    ],
    ['with long timeouts', { ...SAFE, socketTimeout: 5_000, commandTimeout: 5_000, connectTimeout: 1 }, []],
    ['without a socketTimeout', { maxRetriesPerRequest: 0 }, [HANGING]],
    ['with an offline queue', { ...SAFE, enableOfflineQueue: true }, []],
  ])('%s', (_, options, advice) => {
    expectWarnings(ofRedis(options), advice);
  });

  it('never show a password', () => {
    expect(ofRedis({ username: 'user', password: 'secret', host: 'example.org' }).join()).not.toMatch(
      /secret|user:|example/,
    );
  });
});

describe('the warnings for a Cluster', () => {
  it.each<[string, object, string[]]>([
    ['with the defaults of ioredis', {}, [FAILOVER, HANGING]],
    ['with safe options', { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 10_000 } }, []],
    ['that resends', { redisOptions: { socketTimeout: 10_000 } }, [FAILOVER]],
    ['without a socketTimeout', { retryDelayOnFailover: 0 }, [HANGING]],
    [
      'whose nodes would resend after a reconnect, which they never do',
      { retryDelayOnFailover: 0, redisOptions: { socketTimeout: 10_000, maxRetriesPerRequest: 20 } },
      [],
    ],
    ['with a node option in the wrong place', { retryDelayOnFailover: 0, socketTimeout: 10_000 }, [HANGING]],
  ])('%s', (_, options, advice) => {
    expectWarnings(ofCluster(options), advice);
  });
});

describe('the warnings for a client of another copy of ioredis', () => {
  const method = async (): Promise<unknown> => undefined;
  const client = { status: 'ready', evalshaBuffer: method, evalBuffer: method, del: method };

  it.each([
    [false, [DISCARD, HANGING]],
    [true, [FAILOVER, HANGING]],
  ])('assume the defaults of ioredis if it has no options (a Cluster: %p)', (isCluster, advice) => {
    expectWarnings(clientWarnings({ ...client, isCluster }), advice);
    expectWarnings(clientWarnings({ ...client, isCluster, options: undefined }), advice);
  });
});
