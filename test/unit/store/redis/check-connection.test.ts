import { Redis } from 'ioredis';
import { readRedisOption } from '../../../../src/store/redis/check-redis-option.js';
import { thrownBy } from '../../fixtures.js';

const accept = (redis: unknown) => (): void => {
  readRedisOption(redis);
};
const HOST = { host: 'a' };
const SENTINELS = { sentinels: [{ host: 's', port: 26_379 }], name: 'p' };
const NODES = { cluster: [{ host: 'a', port: 7_000 }] };
const ofNodes = (redisOptions: object) => ({ ...NODES, options: { redisOptions } });

describe('an option of the wrong type, as from the environment', () => {
  it.each<[object, string]>([
    [{ tls: 'true' }, 'tls: "true" is not an object of options of tls.connect; {} turns TLS on'],
    // ioredis would turn TLS on
    [{ tls: 'false' }, 'tls: "false" is not an object'],
    [{ tls: 1 }, 'tls: 1 is not an object'],
    [{ family: 5 }, 'family: 5 is not one of 0, 4, 6'],
    [{ family: '4' }, 'family: "4" is not one of 0, 4, 6'],
    [{ username: 5 }, 'username: 5 is not a string'],
    [{ keyPrefix: 5 }, 'keyPrefix: 5 is not a string'],
    [
      { connectTimeout: '10' },
      'connectTimeout: "10" is not a whole number of milliseconds; it is a string, perhaps from the environment: write Number(…)',
    ],
    [{ commandTimeout: -1 }, 'commandTimeout: -1 is not a whole number of milliseconds'],
    [{ keepAlive: true }, 'keepAlive: true is not a whole number of milliseconds'],
    [{ maxRetriesPerRequest: '3' }, 'maxRetriesPerRequest: "3" is not a whole number'],
    // ioredis would take it for true
    [
      { enableOfflineQueue: 'false' },
      `enableOfflineQueue: "false" is not true or false; it is a string, perhaps from the environment: write … === 'true'`,
    ],
    [{ enableReadyCheck: 0 }, 'enableReadyCheck: 0 is not true or false'],
    // ioredis would never reconnect
    [{ retryStrategy: 5 }, 'retryStrategy: 5 is not a function'],
    [{ retryStrategy: false }, 'retryStrategy: false is not a function'],
    [{ reconnectOnError: true }, 'reconnectOnError: true is not a function'],
    [{ protocol: 4 }, 'protocol: 4 is not one of 2, 3'],
    [{ replyMapping: 'resp2' }, "replyMapping: \"resp2\" is not one of 'legacy', 'resp3'"],
    [
      { natMap: { '10.0.0.1:6379': 'a:1' } },
      "natMap: [object] is not a function, or an object such as { '10.0.0.1:6379': { host, port } }",
    ],
  ])('%j is rejected', (options, message) => {
    expect(accept({ ...HOST, ...options })).toThrow(TypeError);
    expect(accept({ ...HOST, ...options })).toThrow(message);
  });

  it.each<[object, string]>([
    [
      { scaleReads: 'slaves' },
      "options.scaleReads: \"slaves\" is not one of 'master', 'slave', 'all', or a function",
    ],
    [{ slotsRefreshTimeout: '5' }, 'options.slotsRefreshTimeout: "5" is not a whole number of milliseconds'],
    [{ clusterRetryStrategy: 100 }, 'options.clusterRetryStrategy: 100 is not a function'],
    [{ redisOptions: { tls: 'true' } }, 'options.redisOptions.tls: "true" is not an object'],
    [{ redisOptions: { family: 5 } }, 'options.redisOptions.family: 5 is not one of 0, 4, 6'],
  ])('%j is rejected for a Cluster', (options, message) => {
    expect(accept({ ...NODES, options })).toThrow(message);
  });

  it('never shows a password', () => {
    expect(thrownBy(accept({ ...HOST, password: 12_345_678 })).message).toBe('password: is not a string');
    expect(accept({ ...SENTINELS, sentinelPassword: {} })).toThrow('sentinelPassword: is not a string');
  });

  it.each<[string, object]>([
    ['tls: true', { tls: true }],
    ['tls: false', { tls: false }],
    ['tls: {}', { tls: {} }],
    ['a profile of ioredis', { tls: 'RedisCloudFixed' }],
    [
      'null for what ioredis has no value for',
      { tls: null, retryStrategy: null, maxRetriesPerRequest: null, password: null },
    ],
    ['a user name alone, for a user without a password', { username: 'u' }],
    ['an empty password', { password: '' }],
    ['a connection name with a space, which a server ignores', { connectionName: 'a b' }],
    ['readOnly, which a server ignores', { readOnly: true }],
  ])('%s is accepted', (_, options) => {
    expect(accept({ ...HOST, ...options })).not.toThrow();
  });

  it('tls: true turns TLS on', () => {
    const { tls } = new Redis({ ...(readRedisOption({ ...HOST, tls: true }) as object), lazyConnect: true })
      .options;
    expect(Boolean(tls)).toBe(true);
  });
});

describe('options that contradict each other, or have no effect', () => {
  it.each<[string, object, string]>([
    [
      'TLS that sentinels do not use',
      { ...SENTINELS, tls: {} },
      'tls: is not used for the servers that sentinels name; set enableTLSForSentinelMode: true too',
    ],
    [
      'TLS for the servers of sentinels, turned on without options',
      { ...SENTINELS, enableTLSForSentinelMode: true },
      'enableTLSForSentinelMode: has no effect without tls',
    ],
    [
      'the password of sentinels without sentinels',
      { ...HOST, sentinelPassword: 'p' },
      'sentinelPassword: has no effect without sentinels',
    ],
    [
      'the user of sentinels without sentinels',
      { ...HOST, sentinelUsername: 'u' },
      'sentinelUsername: has no effect without sentinels',
    ],
    [
      'TLS of sentinels without sentinels',
      { ...HOST, sentinelTLS: {} },
      'sentinelTLS: has no effect without sentinels',
    ],
    [
      'TLS for servers of sentinels without sentinels',
      { ...HOST, enableTLSForSentinelMode: true },
      'enableTLSForSentinelMode: has no effect without sentinels; set tls: {}',
    ],
    ['a replica without sentinels', { ...HOST, role: 'slave' }, "role: 'slave' is for sentinels"],
    [
      'the password of a sentinel in the list',
      { sentinels: [{ host: 's', password: 'p' }], name: 'p' },
      'sentinels[0].password: is not an option here; use sentinelPassword',
    ],
    [
      'TLS of a sentinel in the list',
      { sentinels: [{ host: 's' }, { host: 't', tls: {} }], name: 'p' },
      'sentinels[1].tls: is not an option here; use sentinelTLS',
    ],
    ['a natMap for one server', { ...HOST, natMap: {} }, 'natMap: has no effect on a single server'],
    ['MONITOR', { ...HOST, monitor: true }, 'monitor: a connection in MONITOR mode cannot count'],
    [
      'RESP3 replies over RESP2',
      { ...HOST, protocol: 2, replyMapping: 'resp3' },
      "replyMapping: 'resp3' needs protocol: 3",
    ],
    [
      'a natMap in the wrong place',
      ofNodes({ natMap: {} }),
      'options.redisOptions.natMap: has no effect here; it belongs in options',
    ],
    [
      'sentinels’ password in a Cluster',
      ofNodes({ sentinelPassword: 'p' }),
      'options.redisOptions.sentinelPassword: has no effect without sentinels',
    ],
    [
      'a misspelled option of a node',
      { cluster: [{ host: 'a', prot: 7_000 }] },
      'cluster[0].prot: is not an option here; did you mean port?',
    ],
    [
      'a misspelled host of a node',
      { cluster: [7_000, { hosst: 'a', port: 7_000 }] },
      'cluster[1].hosst: is not an option here; did you mean host?',
    ],
    [
      'a database of a node',
      { cluster: [{ host: 'a', db: 2 }] },
      'cluster: the counters of a Cluster are always in database 0',
    ],
    [
      'an option in the URL of a node',
      { cluster: ['redis://a:7000?password=p'] },
      'cluster[0]: the URL of a node cannot have options after ?',
    ],
    [
      'a host from an unset variable',
      { host: 'undefined' },
      'host: is the word "undefined"; is its environment variable set?',
    ],
    [
      'a password from an unset variable',
      { ...HOST, password: 'undefined' },
      'password: is the word "undefined"',
    ],
    [
      'a user from an unset variable',
      ofNodes({ username: 'null' }),
      'options.redisOptions.username: is the word "null"',
    ],
  ])('%s: the error says what to do', (_, redis, message) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(message);
  });

  it.each<[string, object]>([
    ['sentinels with TLS', { ...SENTINELS, tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }],
    [
      'sentinels with a password and a natMap',
      { ...SENTINELS, sentinelPassword: 'p', natMap: { 'a:1': { host: 'b', port: 2 } } },
    ],
    ['an empty password of sentinels without sentinels', { ...HOST, sentinelPassword: '' }],
    ['a Cluster with a natMap', { ...NODES, options: { natMap: () => null } }],
  ])('%s are accepted', (_, redis) => {
    expect(accept(redis)).not.toThrow();
  });
});

describe('a URL that ioredis would misread', () => {
  it.each([
    ['redis://a,b', 'the URL has several hosts; set { cluster: [nodes] }'],
    ['redis://a:0', 'the port of the URL is 0'],
    ['redis://a#1', 'the URL contains #, and what follows it is ignored; in a password write %23'],
    ['redis://:q@a?password=p', 'the URL sets password twice'],
    ['redis://u@a?username=v', 'the URL sets username twice'],
    ['redis://a?db=1&db=2', 'the URL sets db twice'],
    ['redis://a?family=5', 'family in the URL: "5" is not one of 0, 4, 6'],
    ['redis://a?tls=true', '"tls" in the URL: for TLS begin the URL with rediss://'],
    ['redis://a?ssl=true', '"ssl" in the URL: for TLS begin the URL with rediss://'],
    ['redis://a?pasword=p', '"pasword" in the URL: did you mean password?'],
    ['redis://a/0?database=1', '"database" in the URL: did you mean db?'],
    ['//a:6379', 'the string is not a URL'],
    ['redis://u:1?secret@a:6379/0', 'the URL contains ? before @; in a password write %3F'],
  ])('%s is rejected', (url, message) => {
    expect(accept(url)).toThrow(message);
  });

  it.each([
    ['redis://:q@undefined'],
    ['redis://:undefined@a'],
    ['redis://:secret@a,b'],
    ['redis://:secret@a#1'],
    ['redis://u:1?secret@a:6379/0'],
    ['redis://u:1?secret=2&b@a'],
    ['redis://u:1?db=secret&b@a'],
  ])('the error of %s does not show the password', (url) => {
    expect(thrownBy(accept(url)).message).not.toMatch(/secret|:q@/);
  });
});

describe('the start nodes of a Cluster', () => {
  const optionsOf = (redis: object): unknown =>
    (readRedisOption(redis) as { options?: { redisOptions?: object } }).options?.redisOptions;

  it.each<[string, readonly unknown[], object]>([
    // ioredis would connect without TLS
    ['rediss://', ['rediss://a:7000', 'rediss://b:7000'], { tls: {} }],
    // ioredis would use it only for this node
    ['a password', ['redis://:p%40@a:7000'], { password: 'p@' }],
    ['a user and a password', ['redis://u:p@a:7000', 'redis://u:p@b:7000'], { username: 'u', password: 'p' }],
    [
      'the properties of objects',
      [{ host: 'a', password: 'p', tls: { ca: 'c' } }],
      { password: 'p', tls: { ca: 'c' } },
    ],
  ])('set for all servers of the Cluster: %s', (_, cluster, expected) => {
    expect(optionsOf({ cluster })).toEqual(expected);
  });

  it('set nothing without a password and TLS', () => {
    expect(readRedisOption({ cluster: ['redis://a:7000', 7_001] })).toEqual({
      cluster: ['redis://a:7000', 7_001],
    });
  });

  it('keep other options', () => {
    const options = { keyPrefix: 'shop:', redisOptions: { family: 6, tls: { ca: 'c' } } };
    expect(readRedisOption({ cluster: ['rediss://:p@a:7000'], options })).toEqual({
      cluster: ['rediss://:p@a:7000'],
      options: { keyPrefix: 'shop:', redisOptions: { family: 6, password: 'p', tls: { ca: 'c' } } },
    });
  });

  it.each<[string, object, string]>([
    [
      'passwords',
      { cluster: ['redis://:p@a:7000', 'redis://:q@b:7000'] },
      'cluster: the nodes differ in password',
    ],
    [
      'passwords, of which one is missing',
      { cluster: ['redis://:p@a:7000', 7_001] },
      'cluster: the nodes differ in password',
    ],
    ['TLS', { cluster: ['rediss://a:7000', 'redis://b:7000'] }, 'cluster: the nodes differ in tls'],
    [
      'a password from that of the options',
      { cluster: ['redis://:p@a:7000'], options: { redisOptions: { password: 'q' } } },
      'cluster: the nodes have another password than options.redisOptions',
    ],
    [
      'a password from an unset variable',
      { cluster: ['redis://:undefined@a:7000'] },
      'the string contains "undefined" in place of a value',
    ],
  ])('cannot differ in %s', (_, redis, message) => {
    expect(accept(redis)).toThrow(message);
  });
});
