import { Cluster, Redis } from 'ioredis';
import { checkRedisOption, isClient, isClustered } from '../../../../src/store/redis/redis-client.js';
import { thrownBy } from '../../fixtures.js';

const accept = (redis: unknown) => (): void => {
  checkRedisOption(redis);
};
const method = async (): Promise<unknown> => undefined;
const CLIENT = { status: 'ready', isCluster: false, evalsha: method, eval: method, del: method };

describe('checkRedisOption', () => {
  it.each<[string, unknown]>([
    ['a URL', 'redis://localhost:6379'],
    ['a URL with user, password and db', 'redis://user:secret@example.org:6380/2'],
    ['a URL over TLS', 'rediss://example.org'],
    ['a path', '/var/run/redis.sock'],
    ['a host', { host: 'localhost' }],
    ['a port', { port: 6379 }],
    ['a path in options', { path: '/var/run/redis.sock' }],
    ['sentinels', { sentinels: [{ host: 'a', port: 26_379 }], name: 'primary' }],
    ['a client of another copy of ioredis', CLIENT],
    ['a Cluster client of another copy of ioredis', { ...CLIENT, isCluster: true }],
    ['nodes', { cluster: [{ host: 'a', port: 7_000 }, { port: 7_001 }] }],
    ['nodes as URLs and ports', { cluster: ['redis://a:7000', 7_001] }],
    ['nodes with options', { cluster: [7_000], options: { redisOptions: { password: 'secret' } } }],
    ['nodes with options that are not given', { cluster: [7_000], options: undefined }],
    ['nodes with a hash tag before all keys', { cluster: [7_000], options: { keyPrefix: '{shop}:' } }],
    ['nodes with a brace before all keys', { cluster: [7_000], options: { keyPrefix: 'a{b:' } }],
    ['nodes with empty braces behind a hash tag', { cluster: [7_000], options: { keyPrefix: '{a}{}:' } }],
    ['empty braces before all keys of one server', { port: 6_379, keyPrefix: '{}:' }],
    ['a client of one server with empty braces', { ...CLIENT, options: { keyPrefix: '{}:' } }],
  ])('accepts %s', (_, redis) => {
    expect(accept(redis)).not.toThrow();
  });

  it('accepts a client of ioredis, of one server or a Cluster, without connecting either', () => {
    const client = new Redis({ lazyConnect: true });
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    expect(accept(client)).not.toThrow();
    expect(client.status).toBe('wait');
    expect(accept(cluster)).not.toThrow();
    expect(cluster.status).toBe('wait');
    client.disconnect();
    cluster.disconnect();
  });

  it.each<[string, unknown]>([
    ['an object that says nothing', {}],
    ['options without a place', { password: 'secret', db: 1 }],
    ['a number', 5],
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['a list', ['redis://localhost:6379']],
    ['a function', () => 'redis://localhost:6379'],
    ['the class of the client', Redis],
    ['a symbol', Symbol('redis')],
    ['an empty text', ''],
    ['host and port as a text', 'localhost:6379'],
    ['a host as a text', 'localhost'],
    ['a URL of another scheme', 'http://localhost:6379'],
    ['a URL without a host', 'redis://'],
    ['a URL after a blank', ' redis://localhost:6379'],
    ['half a client', { evalsha: method, del: method }],
    ['a client of another library', { sendCommand: method, evalSha: method, eval: method, del: method }],
    ['one that has a host too', { sendCommand: method, evalSha: method, host: 'localhost' }],
  ])('refuses %s with the right form', (_, redis) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(
      "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, or an ioredis client",
    );
  });

  it.each<[string, unknown, string]>([
    ['no nodes', { cluster: [] }, 'cluster: is not a list of nodes'],
    ['one node that is no list', { cluster: { host: 'a' } }, 'cluster: is not a list of nodes'],
    ['a cluster that is not given', { cluster: undefined }, '[object] is not a URL'],
    [
      'an option beside the nodes',
      { cluster: [7_000], scaleReads: 'all' },
      'scaleReads: stands beside cluster; it belongs into options',
    ],
    [
      'a server beside the nodes',
      { cluster: [7_000], host: 'localhost' },
      'host: stands beside cluster; it belongs into options',
    ],
    ['options that are none', { cluster: [7_000], options: 5 }, 'options: is not an object of options'],
    ['no options', { cluster: [7_000], options: null }, 'options: is not an object of options'],
    ['empty braces', { cluster: [7_000], options: { keyPrefix: '{}' } }, 'keyPrefix: "{}" has empty braces'],
    [
      'empty braces in the middle',
      { cluster: [7_000], options: { keyPrefix: 'a{}b{c}' } },
      'keyPrefix: "a{}b{c}" has empty braces',
    ],
    [
      'empty braces for each node',
      { cluster: [7_000], options: { redisOptions: { keyPrefix: '{}' } } },
      'keyPrefix: "{}" has empty braces',
    ],
    [
      'empty braces for each node, which ioredis takes where its own are an empty text',
      { cluster: [7_000], options: { keyPrefix: '', redisOptions: { keyPrefix: '{}' } } },
      'keyPrefix: "{}" has empty braces',
    ],
    [
      'a Cluster client with empty braces',
      { ...CLIENT, isCluster: true, options: { keyPrefix: '{}:' } },
      'keyPrefix: "{}:" has empty braces',
    ],
  ])('refuses for a Cluster %s', (_, redis, complaint) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(complaint);
  });

  it.each<[string, object, string]>([
    [
      'sentinels without the primary’s name',
      { sentinels: [{ host: 's', port: 26_379 }] },
      'name: is missing',
    ],
    ['sentinels that are a text', { sentinels: 's:26379', name: 'p' }, 'sentinels: is not a list'],
    ['sentinels that are no list', { sentinels: {}, name: 'p' }, 'sentinels: is not a list'],
    ['no sentinels', { sentinels: [], name: 'p' }, 'sentinels: is not a list'],
    ['a sentinel as a text', { sentinels: ['s:26379'], name: 'p' }, 'sentinels: is not a list'],
    [
      'a sentinel’s port as a text',
      { sentinels: [{ host: 's', port: '26379' }], name: 'p' },
      'sentinels: is not',
    ],
    ['a host that is a number', { host: 5 }, 'host: 5 is not a name or an address'],
    ['a port that is a text', { port: 'abc' }, 'port: "abc" is not a port, 1 to 65535'],
    ['a port that is none', { port: 70_000 }, 'port: 70000 is not a port'],
  ])('refuses %s', (_, redis, complaint) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(complaint);
  });

  it.each([[5], [{}], [['{a}']]])('refuses for a Cluster a keyPrefix of %p', (keyPrefix) => {
    expect(accept({ cluster: [7_000], options: { keyPrefix } })).toThrow('is not a text');
  });

  it.each<[string, unknown]>([
    ['a text without a scheme', 'user:secret@localhost:6379'],
    ['another scheme', 'http://user:secret@localhost:6379'],
    ['a broken URL', 'redis:/user:secret@localhost'],
    ['options', { password: 'secret', username: 'user' }],
    ['a list', ['redis://user:secret@localhost']],
    ['no nodes', { cluster: [], options: { redisOptions: { password: 'secret' } } }],
    ['a node that is no list', { cluster: 'redis://user:secret@localhost' }],
    ['a password beside the nodes', { cluster: ['redis://user:secret@localhost'], password: 'secret' }],
    ['options of a Cluster as a URL', { cluster: [7_000], options: 'redis://user:secret@localhost' }],
  ])('never shows the password of %s', (_, redis) => {
    expect(thrownBy(accept(redis)).message).not.toContain('secret');
  });
});

describe('isClustered', () => {
  const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  const client = new Redis({ lazyConnect: true });

  it.each<[string, boolean, Parameters<typeof isClustered>[0]]>([
    ['nodes', true, { cluster: [7_000] }],
    ['a Cluster client', true, cluster],
    ['a Cluster client of another copy', true, { ...CLIENT, isCluster: true }],
    ['a client of one server', false, client],
    ['one of another copy', false, CLIENT],
    ['options', false, { host: 'localhost' }],
    ['a URL', false, 'redis://localhost'],
    ['nothing', false, undefined],
  ])('of %s is %p', (_, answer, redis) => {
    expect(isClustered(redis)).toBe(answer);
  });
});

describe('isClient', () => {
  it.each<[unknown, boolean]>([
    [CLIENT, true],
    [{ host: 'localhost' }, false],
    ['redis://localhost', false],
    [null, false],
    [undefined, false],
    [5, false],
  ])('of %p is %p', (redis, answer) => {
    expect(isClient(redis)).toBe(answer);
  });
});
