import type { ClusterOptions, RedisOptions } from 'ioredis';
import type { FreqLimitOptions } from '../../src/index.js';

/*
 * Compiled under both majors of ioredis, never run: the options of ioredis are ours, in variables of its own types and
 * written out as in its documentation.
 */

declare const ofServer: RedisOptions;
declare const ofCluster: ClusterOptions;
declare const certificate: string;

const fromVariables: FreqLimitOptions[] = [
  { redis: ofServer },
  { redis: { ...ofServer, db: 1 } },
  { redis: { cluster: [{ host: 'a', port: 6379 }], options: ofCluster } },
  { redis: { cluster: ['redis://a:6379', 7_001], options: { ...ofCluster, redisOptions: ofServer } } },
  { redis: { cluster: [{ host: undefined, port: 7_001 }], options: { redisOptions: { password: 'p' } } } },
];

const fromLiterals: FreqLimitOptions[] = [
  { redis: { port: 6379, host: '127.0.0.1', username: 'default', password: 'p', db: 0 } },
  { redis: { path: '/tmp/redis.sock' } },
  { redis: { host: 'localhost', tls: { ca: certificate, rejectUnauthorized: true } } },
  { redis: { host: 'a', family: 6, keyPrefix: 'shop:', connectionName: 'limits', keepAlive: 10_000 } },
  { redis: { host: 'a', retryStrategy: null, reconnectOnError: null, maxRetriesPerRequest: null } },
  { redis: { host: 'a', retryStrategy: (times) => Math.min(times * 50, 2_000) } },
  { redis: { host: 'a', retryStrategy: () => undefined } },
  { redis: { host: 'a', reconnectOnError: (error) => (error.message.includes('READONLY') ? 2 : false) } },
  { redis: { host: 'a', enableAutoPipelining: true, autoPipeliningIgnoredCommands: ['ping'] } },
  { redis: { host: 'a', lazyConnect: true, enableReadyCheck: false, enableOfflineQueue: false } },
  { redis: { host: 'a', scripts: { double: { numberOfKeys: 1, lua: 'return 2' } } } },
  {
    redis: {
      sentinels: [
        { host: 'localhost', port: 26_379 },
        { host: 'localhost', port: 26_380 },
      ],
      name: 'mymaster',
      role: 'master',
      sentinelUsername: 'u',
      sentinelPassword: 'p',
      enableTLSForSentinelMode: true,
      sentinelTLS: { ca: certificate },
      tls: { ca: certificate },
      sentinelRetryStrategy: (times) => Math.min(times * 10, 1_000),
      sentinelReconnectStrategy: () => 100,
      natMap: { '10.0.1.230:30001': { host: '203.0.113.73', port: 30_001 } },
      updateSentinels: false,
      failoverDetector: true,
    },
  },
  {
    redis: {
      sentinels: [{ host: '127.0.0.1', port: 26_379 }],
      name: 'mymaster',
      preferredSlaves: [
        { ip: '127.0.0.1', port: '31231', prio: 1 },
        { ip: '127.0.0.1', port: '31232', prio: 2 },
      ],
    },
  },
  {
    redis: {
      sentinels: [{ host: '127.0.0.1', port: 26_379 }],
      name: 'mymaster',
      preferredSlaves: (replicas) => replicas[0] ?? null,
    },
  },
  {
    // ElastiCache with encryption in transit
    redis: {
      cluster: [{ host: 'clustercfg.myCluster.abcdefg.xyz.cache.amazonaws.com', port: 6379 }],
      options: {
        dnsLookup: (address, callback) => callback(null, address),
        redisOptions: { tls: {}, password: 'p' },
      },
    },
  },
  {
    redis: {
      cluster: [{ host: 'a', port: 6379 }],
      options: {
        scaleReads: 'slave',
        clusterRetryStrategy: (times, reason) =>
          reason === undefined ? Math.min(100 + times * 2, 2_000) : null,
        clusterNodeRetryStrategy: (times) => times,
        natMap: { '10.0.1.230:30001': { host: '203.0.113.73', port: 30_001 } },
        useSRVRecords: true,
        resolveSrv: (hostname, callback) => {
          callback(null, [{ name: hostname, port: 6379, priority: 1, weight: 1 }]);
        },
        maxRedirections: 16,
        retryDelayOnMoved: 100,
        slotsRefreshTimeout: 2_000,
        enableAutoPipelining: true,
        shardedSubscribers: false,
      },
    },
  },
  {
    redis: {
      cluster: [7_000],
      options: {
        scaleReads: (nodes: object[]) => nodes[0],
        natMap: (address) => ({ host: address, port: 6379 }),
        clusterRetryStrategy: null,
      },
    },
  },
];

// a typing error in a literal does not compile
const wrong: FreqLimitOptions[] = [
  // @ts-expect-error -- host is misspelled
  { redis: { hots: 'localhost', port: 6379 } },
  // @ts-expect-error -- password is misspelled
  { redis: { host: 'localhost', pasword: 'p' } },
  // @ts-expect-error -- the name is db
  { redis: { host: 'localhost', database: 1 } },
  // @ts-expect-error -- a URL is given as a string
  { redis: { url: 'redis://localhost' } },
  // @ts-expect-error -- rejectUnauthorized is misspelled
  { redis: { host: 'localhost', tls: { rejectUnauthorised: false } } },
  // @ts-expect-error -- a port is a number
  { redis: { host: 'localhost', port: '6379' } },
  // @ts-expect-error -- belongs in options
  { redis: { cluster: [7_000], scaleReads: 'all' } },
  // @ts-expect-error -- scaleReads is misspelled
  { redis: { cluster: [7_000], options: { scaleRead: 'all' } } },
  // @ts-expect-error -- belongs in redisOptions
  { redis: { cluster: [7_000], options: { password: 'p' } } },
  // @ts-expect-error -- each node has its own
  { redis: { cluster: [7_000], options: { redisOptions: { host: 'a' } } } },
];

/** Every name that ioredis knows is known here. */
type Given<Option> = Extract<NonNullable<FreqLimitOptions['redis']>, Option>;
type Server = Given<{ readonly sentinels?: unknown }>;
type Cluster = NonNullable<Given<{ readonly cluster: unknown }>['options']>;
type Missing<Theirs, Ours> = Exclude<keyof Theirs, keyof Ours>;
type None<Names> = [Names] extends [never] ? true : Names;
const nothingMissing: [
  None<Missing<RedisOptions, Server>>,
  None<Missing<ClusterOptions, Cluster>>,
  None<Missing<NonNullable<ClusterOptions['redisOptions']>, NonNullable<Cluster['redisOptions']>>>,
] = [true, true, true];

export const all = [fromVariables, fromLiterals, wrong, nothingMissing];
