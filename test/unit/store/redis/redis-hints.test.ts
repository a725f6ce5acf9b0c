import { Redis } from 'ioredis';
import { readRedisOption } from '../../../../src/store/redis/check-redis-option.js';
import { thrownBy } from '../../fixtures.js';

const method = (): undefined => undefined;

it.each<[string, unknown, string]>([
  ['a URL object', new URL('redis://:secret@host'), 'write the URL as a string: url.href'],
  [
    'options in options',
    { redis: { host: 'a', password: 'secret' } },
    'write the value of redis itself: redis: …',
  ],
  ['a URL in options', { redis: 'redis://:secret@a' }, 'write the value of redis itself: redis: …'],
  ['a microservice’s options', { transport: 1, options: { host: 'a' } }, 'write the value of options itself'],
  ['a configuration', { config: { host: 'a' } }, 'write the value of config itself'],
  ['a connection', { connection: { host: 'a' } }, 'write its value itself: redis: { host, port }'],
  [
    'a service with clients',
    { getOrThrow: method },
    'pass the client that this service returns, not the service',
  ],
  ['a port', 6379, "write { host: 'localhost', port: 6379 }"],
  ['a list', ['redis://:secret@a'], 'for a Cluster write { cluster: [nodes] }'],
  ['the class', Redis, 'pass an instance or a URL, not a class or a function'],
  ['a promise', Promise.resolve('redis://a'), 'await it, for example in useFactory of forRootAsync'],
  ['a host that is undefined', { host: undefined }, 'host is undefined: is its environment variable set?'],
  ['a password alone', { password: 'secret' }, 'host, port, path or sentinels is missing'],
  [
    'a client of node-redis',
    { sendCommand: method },
    'a client of another library, such as node-redis, is not',
  ],
  ['retries of a microservice', { host: 'a', retryAttempts: 3 }, 'did you mean retryStrategy?'],
  ['a host', 'localhost:6379', "a URL begins with redis:// or rediss://, as in 'redis://host:6379'"],
  ['a password', 'secret', 'a URL begins with redis:// or rediss://'],
  ['another scheme', 'https://:secret@a', 'the scheme of the URL is redis: or rediss:, not https:'],
  ['quotes', '"redis://:secret@a"', 'remove the quotes or spaces around it'],
  ['a space', ' redis://:secret@a', 'remove the quotes or spaces around it'],
  [
    'two URLs',
    'redis://:secret@a:1,redis://b:2',
    "for several servers write { cluster: ['redis://host:6379', …] }",
  ],
  ['a broken password', 'redis://:secret%@a', 'percent-encode special characters of a password in a URL'],
  [
    'a URL as the host',
    { host: 'redis://:secret@a' },
    'host: is not the name of a host, because it contains a slash',
  ],
  ['a port in the host', { host: 'a:6379' }, 'host: contains a port; write { host, port }'],
  [
    'a port as a string',
    { host: 'a', port: '6379' },
    'port: "6379" is not a port from 1 to 65535; it is a string, perhaps from the environment: write Number(…)',
  ],
  [
    'a database as a string',
    { host: 'a', db: '1' },
    'it is a string, perhaps from the environment: write Number(…)',
  ],
])('says what to write instead of %s', (_, redis, advice) => {
  const { message } = thrownBy(() => readRedisOption(redis));
  expect(message).toContain(advice);
  expect(message).not.toContain('secret');
});

it.each([{ host: '::1' }, { host: 'fe80::1%eth0' }, { host: '127.0.0.1' }])('accepts %j', (redis) => {
  expect(readRedisOption(redis)).toEqual(redis);
});

it('accepts a configuration object with other properties next to its host', () => {
  class RedisConfig {
    readonly host = 'a';
    readonly config = {};
    readonly options = {};
  }
  expect(readRedisOption(new RedisConfig())).toEqual({ host: 'a' });
});
