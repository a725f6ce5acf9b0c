import { Cluster, Redis } from 'ioredis';
import { readRedisOption } from '../../../../src/store/redis/check-redis-option.js';
import { thrownBy } from '../../fixtures.js';

const accept = (redis: unknown) => (): void => {
  readRedisOption(redis);
};
const method = async (): Promise<unknown> => undefined;
const COMMANDS = { evalshaBuffer: method, evalBuffer: method, del: method };
const CLIENT = { status: 'ready', isCluster: false, ...COMMANDS };

describe('readRedisOption', () => {
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
    ['nodes with undefined options', { cluster: [7_000], options: undefined }],
    ['nodes with a hash tag in the keyPrefix', { cluster: [7_000], options: { keyPrefix: '{shop}:' } }],
    ['nodes with a brace in the keyPrefix', { cluster: [7_000], options: { keyPrefix: 'a{b:' } }],
    ['nodes with empty braces after a hash tag', { cluster: [7_000], options: { keyPrefix: '{a}{}:' } }],
    ['empty braces in the keyPrefix of one server', { port: 6_379, keyPrefix: '{}:' }],
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
    ['an empty object', {}],
    ['options without a server', { password: 'secret', db: 1 }],
    ['a number', 5],
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['a list', ['redis://localhost:6379']],
    ['a function', () => 'redis://localhost:6379'],
    ['the class of the client', Redis],
    ['a symbol', Symbol('redis')],
    ['host and port as a string', 'localhost:6379'],
    ['a host as a string', 'localhost'],
    ['a URL of another scheme', 'http://localhost:6379'],
    ['a URL without a host', 'redis://'],
    ['a URL after a space', ' redis://localhost:6379'],
    ['a client without eval', { evalsha: method, del: method }],
    ['a client of another library', { sendCommand: method, evalSha: method, eval: method, del: method }],
    ['a client of another library with a host', { sendCommand: method, evalSha: method, host: 'localhost' }],
  ])('rejects %s and shows the right forms', (_, redis) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(
      "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, { cluster: [nodes], options }, an ioredis client, or false to count in the memory of this process",
    );
  });

  it.each<[string, unknown, string]>([
    ['no nodes', { cluster: [] }, 'cluster: is not a list of nodes'],
    ['one node that is not a list', { cluster: { host: 'a' } }, 'cluster: is not a list of nodes'],
    ['an undefined cluster', { cluster: undefined }, '[object] is not a URL'],
    [
      'an option next to the nodes',
      { cluster: [7_000], scaleReads: 'all' },
      'scaleReads: is not an option here; it belongs in options',
    ],
    [
      'a server next to the nodes',
      { cluster: [7_000], host: 'localhost' },
      'host: is not an option here; cluster lists the nodes',
    ],
    [
      'options that are not an object',
      { cluster: [7_000], options: 5 },
      'options: is not an object of options',
    ],
    ['null options', { cluster: [7_000], options: null }, 'options: is not an object of options'],
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
      'empty braces for each node, which ioredis uses if its own keyPrefix is empty',
      { cluster: [7_000], options: { keyPrefix: '', redisOptions: { keyPrefix: '{}' } } },
      'keyPrefix: "{}" has empty braces',
    ],
    [
      'a Cluster client with empty braces',
      { ...CLIENT, isCluster: true, options: { keyPrefix: '{}:' } },
      'keyPrefix: "{}:" has empty braces',
    ],
  ])('rejects for a Cluster %s', (_, redis, message) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(message);
  });

  it.each<[string, object, string]>([
    [
      'sentinels without the primary’s name',
      { sentinels: [{ host: 's', port: 26_379 }] },
      'name: is missing',
    ],
    ['sentinels that are a string', { sentinels: 's:26379', name: 'p' }, 'sentinels: is not a list'],
    ['sentinels that are not a list', { sentinels: {}, name: 'p' }, 'sentinels: is not a list'],
    ['no sentinels', { sentinels: [], name: 'p' }, 'sentinels: is not a list'],
    ['a sentinel as a string', { sentinels: ['s:26379'], name: 'p' }, 'sentinels: is not a list'],
    [
      'the port of a sentinel as a string',
      { sentinels: [{ host: 's', port: '26379' }], name: 'p' },
      'sentinels: is not',
    ],
    ['a host that is a number', { host: 5 }, 'host: 5 is not a name or an address'],
    ['a port that is a string', { port: 'abc' }, 'port: "abc" is not a port from 1 to 65535'],
    [
      'a port from the environment',
      { port: '6379' },
      'port: "6379" is not a port from 1 to 65535; it is a string, perhaps from the environment: write Number(…)',
    ],
    [
      'a port from a variable that is not set',
      { port: NaN },
      'port: NaN is not a port from 1 to 65535; Number(undefined) is NaN: is an environment variable not set?',
    ],
    [
      'a database from the environment',
      { host: 'a', db: '1' },
      'perhaps from the environment: write Number(…)',
    ],
    ['a port that is too large', { port: 70_000 }, 'port: 70000 is not a port'],
  ])('rejects %s', (_, redis, message) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(message);
  });

  it.each([[5], [{}], [['{a}']]])('rejects for a Cluster a keyPrefix of %p', (keyPrefix) => {
    expect(accept({ cluster: [7_000], options: { keyPrefix } })).toThrow('is not a string');
  });

  it.each<[string, unknown]>([
    ['a string without a scheme', 'user:secret@localhost:6379'],
    ['another scheme', 'http://user:secret@localhost:6379'],
    ['a broken URL', 'redis:/user:secret@localhost'],
    ['options', { password: 'secret', username: 'user' }],
    ['a list', ['redis://user:secret@localhost']],
    ['no nodes', { cluster: [], options: { redisOptions: { password: 'secret' } } }],
    ['a node that is not a list', { cluster: 'redis://user:secret@localhost' }],
    ['a password next to the nodes', { cluster: ['redis://user:secret@localhost'], password: 'secret' }],
    ['options of a Cluster as a URL', { cluster: [7_000], options: 'redis://user:secret@localhost' }],
  ])('never shows the password of %s', (_, redis) => {
    expect(thrownBy(accept(redis)).message).not.toContain('secret');
  });
});

describe('readRedisOption, for options that ioredis would misread', () => {
  const sentinels = [{ host: 's', port: 26_379 }];

  it.each<[string, object, string]>([
    [
      'url',
      { url: 'redis://a' },
      "url: is not an option here; use the URL itself: redis: 'redis://host:6379'",
    ],
    ['url next to a port', { port: 6379, url: 'redis://a' }, 'url: is not an option here'],
    ['an option of node-redis', { socket: { host: 'a' } }, 'did you mean host and port, or path?'],
    ['database', { host: 'a', database: 1 }, 'database: is not an option here; did you mean db?'],
    ['a misspelled host', { hots: 'a', port: 1 }, 'hots: is not an option here; did you mean host?'],
    ['a misspelled password', { host: 'a', pasword: 'p' }, 'did you mean password?'],
    ['other capital letters', { host: 'a', userName: 'p' }, 'did you mean username?'],
    [
      'an option that is similar to none',
      { host: 'a', wheels: 4 },
      'wheels: is not an option of ioredis 5.3 to 6.0',
    ],
    ['nodes', { nodes: [7_000] }, 'did you mean { cluster: [nodes], options }?'],
    [
      'an option of a Cluster',
      { host: 'a', scaleReads: 'all' },
      'scaleReads: is not an option here; it is an option of a Cluster',
    ],
    ['a path and a host', { path: '/a.sock', host: 'a' }, 'path and host cannot be used together'],
    ['a path and a port', { path: '/a.sock', port: 1 }, 'path and port cannot be used together'],
    [
      'sentinels and a host',
      { sentinels, name: 'p', host: 'a' },
      'sentinels and host cannot be used together',
    ],
    [
      'sentinels and a path',
      { sentinels, name: 'p', path: '/a' },
      'path and sentinels cannot be used together',
    ],
    ['a name without sentinels', { host: 'a', name: 'p' }, "name: is the primary's name among the sentinels"],
    ['replicas', { sentinels, name: 'p', role: 'slave' }, 'counters can only be written to the primary'],
    ['an empty path', { path: '' }, 'path: "" is not the path of a unix socket'],
    ['an undefined host', { host: undefined, password: 'p' }, '[object] is not a URL'],
    [
      'a node’s password in the wrong place',
      { cluster: [1], options: { password: 'p' } },
      'options.password: is not an option here; it belongs in options.redisOptions',
    ],
    [
      'a node’s password next to the nodes',
      { cluster: [1], password: 'p' },
      'password: is not an option here; it belongs in options.redisOptions',
    ],
    [
      'a Cluster’s option for its nodes',
      { cluster: [1], options: { redisOptions: { scaleReads: 'all' } } },
      'options.redisOptions.scaleReads: is not an option here; it belongs in options',
    ],
    [
      'a host for each node',
      { cluster: [1], options: { redisOptions: { host: 'a' } } },
      'options.redisOptions.host: has no effect here; cluster lists the nodes',
    ],
    [
      'a misspelled option of a Cluster',
      { cluster: [1], options: { scaleRead: 'all' } },
      'options.scaleRead: is not an option here; did you mean scaleReads?',
    ],
    [
      'a database of a Cluster',
      { cluster: [1], options: { redisOptions: { db: 1 } } },
      'options.redisOptions.db: the counters of a Cluster are always in database 0',
    ],
    [
      'a database of a node',
      { cluster: ['redis://a/1'] },
      'cluster: the counters of a Cluster are always in database 0',
    ],
    [
      'options of nodes that are not an object',
      { cluster: [1], options: { redisOptions: 5 } },
      'options.redisOptions: is not an object',
    ],
  ])('rejects %s', (_, redis, message) => {
    expect(accept(redis)).toThrow(TypeError);
    expect(accept(redis)).toThrow(message);
  });

  it.each([
    ['redis://a:6379?hsot=b', '"hsot" in the URL'],
    // ioredis reads it as a string, and the string "false" is truthy
    ['redis://a?autoResendUnfulfilledCommands=false', 'a URL can only set db, family'],
    ['redis://a?db=first', 'db in the URL: "first" is not the number of a database'],
    ['redis://a/1?db=2', 'sets the database twice'],
    ['/tmp/a.sock?database=2', '"database" in the URL'],
  ])('rejects the URL %s', (url, message) => {
    expect(accept(url)).toThrow(message);
  });

  it.each([['redis://a?db=2'], ['redis://a/0?family=6'], ['/tmp/a.sock?db=2'], ['redis://user@a:1/']])(
    'accepts the URL %s',
    (url) => {
      expect(readRedisOption(url)).toBe(url);
    },
  );

  it('does not check options that only a custom connector knows', () => {
    const options = { Connector: class {}, consul: 'http://a' };
    expect(readRedisOption(options)).toEqual({ Connector: options.Connector });
  });

  it('knows every option that a client of ioredis has by default', () => {
    const server = new Redis({ lazyConnect: true }).options;
    const cluster = new Cluster([7_000], { lazyConnect: true }).options;
    expect(accept(server)).not.toThrow();
    expect(accept({ cluster: [7_000], options: { ...cluster, redisOptions: undefined } })).not.toThrow();
  });
});

// getters that return a constant are fine in a test
/* eslint-disable @typescript-eslint/class-literal-property-style */
describe('readRedisOption, for an instance of a class', () => {
  class Base {
    get password() {
      return 'p';
    }
  }
  class Config extends Base {
    readonly port = 6380;
    readonly settings = new Map([['host', 'example.org']]);
    get host() {
      return this.settings.get('host');
    }
    get db() {
      return 3;
    }
    connect() {
      return undefined;
    }
  }

  it('reads getters and inherited properties', () => {
    expect(readRedisOption(new Config())).toEqual({ host: 'example.org', port: 6380, db: 3, password: 'p' });
  });

  it('reads the getters of Cluster options, and of node options', () => {
    class OfNodes {
      get password() {
        return 'p';
      }
    }
    class OfCluster {
      get keyPrefix() {
        return 'shop:';
      }
      get redisOptions() {
        return new OfNodes();
      }
    }
    class Nodes {
      get cluster() {
        return [7_000];
      }
      get options() {
        return new OfCluster();
      }
    }
    expect(readRedisOption(new Nodes())).toEqual({
      cluster: [7_000],
      options: { keyPrefix: 'shop:', redisOptions: { password: 'p' } },
    });
  });

  it('reads the getters of each node in the list', () => {
    class Node {
      readonly port = 7_001;
      get host() {
        return 'example.org';
      }
    }
    const { cluster } = readRedisOption({ cluster: [new Node(), 7_000] }) as { cluster: unknown[] };
    // as own properties, because ioredis copies only those
    expect(cluster.map((node) => (typeof node === 'object' ? { ...node } : node))).toEqual([
      { host: 'example.org', port: 7_001 },
      7_000,
    ]);
  });

  it('rejects a getter whose name looks like a misspelled option', () => {
    class Wrong extends Base {
      get host() {
        return 'a';
      }
      get database() {
        return 1;
      }
    }
    expect(accept(new Wrong())).toThrow('database: is not an option here; did you mean db?');
  });

  it('reads properties inherited from an object', () => {
    expect(readRedisOption(Object.create({ host: 'a', db: 2 }))).toEqual({ host: 'a', db: 2 });
    expect(accept(Object.create({ host: 'a', pasword: 'p' }))).toThrow('did you mean password?');
  });

  it('reads each value once, so that the checked value is the one that is used', () => {
    let reads = 0;
    const options = {
      get host() {
        return ++reads === 1 ? 'a' : '';
      },
    };
    expect(readRedisOption(options)).toEqual({ host: 'a' });
  });
});

describe('readRedisOption, for clients', () => {
  it.each([
    ['a mock', COMMANDS],
    ['another library’s client', { ...CLIENT, status: 1 }],
  ])('rejects a client without a status: %s', (_, client) => {
    expect(accept(client)).toThrow('the client has no status, so it is not a client of ioredis');
  });

  it.each([
    ['a mock', { evalsha: method, eval: method, del: method }],
    ['a mock with a status', { ...CLIENT, evalshaBuffer: undefined, evalsha: method }],
    [
      'a mock without one of them',
      { ...CLIENT, evalBuffer: undefined, evalsha: method, sendCommand: method },
    ],
    ['another library’s client', { status: 'ready', evalsha: method, eval: method, del: method }],
  ])('rejects a client without the methods that run scripts: %s', (_, client) => {
    expect(accept(client)).toThrow(
      'a client without the methods evalshaBuffer, evalBuffer and del, which each client of ioredis has, is not a URL',
    );
    expect(accept(client)).toThrow('in tests, leave redis out or use nestjs-freq-limit/testing');
  });

  it('rejects a Cluster client whose nodes use another database', () => {
    const cluster = new Cluster([7_000], { lazyConnect: true, redisOptions: { db: 1 } });
    expect(accept(cluster)).toThrow('redisOptions.db: the counters of a Cluster are always in database 0');
  });
});
