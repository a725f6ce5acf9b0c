import { Cluster, Redis } from 'ioredis';
import { checkRedisOption, isClient } from '../../../../src/store/redis/redis-client.js';
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
  ])('accepts %s', (_, redis) => {
    expect(accept(redis)).not.toThrow();
  });

  it('accepts a client of ioredis, and refuses a cluster, without connecting either', () => {
    const client = new Redis({ lazyConnect: true });
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    expect(accept(client)).not.toThrow();
    expect(client.status).toBe('wait');
    expect(accept(cluster)).toThrow('a Cluster client is not supported yet; give a client of one server');
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
      "a URL ('redis://host:6379', 'rediss://…'), ioredis options with host, port, path or sentinels, or an ioredis client",
    );
  });

  it.each<[string, unknown]>([
    ['a text without a scheme', 'user:secret@localhost:6379'],
    ['another scheme', 'http://user:secret@localhost:6379'],
    ['a broken URL', 'redis:/user:secret@localhost'],
    ['options', { password: 'secret', username: 'user' }],
    ['a list', ['redis://user:secret@localhost']],
  ])('never shows the password of %s', (_, redis) => {
    expect(thrownBy(accept(redis)).message).not.toContain('secret');
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
