import { adviceFor, hintsFor, type OptionHints } from '../../core/option-hints.js';
import type { RedisClusterClientOptions, RedisConnectionOptions } from './redis-options.js';

/** The names of the options of ioredis' `Redis`, 5.3 to 6.0. */
export const SERVER_NAMES = namesOf<RedisConnectionOptions>({
  Connector: true,
  autoPipeliningIgnoredCommands: true,
  autoResendUnfulfilledCommands: true,
  autoResubscribe: true,
  blockingTimeout: true,
  blockingTimeoutGrace: true,
  clientInfoTag: true,
  commandQueue: true,
  commandTimeout: true,
  connectTimeout: true,
  connectionName: true,
  db: true,
  disableClientInfo: true,
  disconnectTimeout: true,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  enableTLSForSentinelMode: true,
  failoverDetector: true,
  family: true,
  himportFieldsets: true,
  host: true,
  keepAlive: true,
  keyPrefix: true,
  lazyConnect: true,
  maxLoadingRetryTime: true,
  maxRetriesPerRequest: true,
  monitor: true,
  name: true,
  natMap: true,
  noDelay: true,
  offlineQueue: true,
  password: true,
  path: true,
  port: true,
  preferredSlaves: true,
  protocol: true,
  readOnly: true,
  reconnectOnError: true,
  replyMapping: true,
  retryStrategy: true,
  role: true,
  scripts: true,
  sentinelCommandTimeout: true,
  sentinelMaxConnections: true,
  sentinelPassword: true,
  sentinelReconnectStrategy: true,
  sentinelRetryStrategy: true,
  sentinelTLS: true,
  sentinelUsername: true,
  sentinels: true,
  showFriendlyErrorStack: true,
  socketTimeout: true,
  stringNumbers: true,
  tls: true,
  updateSentinels: true,
  username: true,
});

/** The names of the options of ioredis' `Cluster`. */
export const CLUSTER_NAMES = namesOf<RedisClusterClientOptions>({
  autoPipeliningIgnoredCommands: true,
  clusterNodeRetryStrategy: true,
  clusterRetryStrategy: true,
  dnsLookup: true,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  himportFieldsets: true,
  keyPrefix: true,
  lazyConnect: true,
  maxRedirections: true,
  natMap: true,
  redisOptions: true,
  resolveSrv: true,
  retryDelayOnClusterDown: true,
  retryDelayOnFailover: true,
  retryDelayOnMoved: true,
  retryDelayOnTryAgain: true,
  scaleReads: true,
  scripts: true,
  shardedSubscribers: true,
  showFriendlyErrorStack: true,
  slotsRefreshInterval: true,
  slotsRefreshTimeout: true,
  useSRVRecords: true,
});

/** Option names of other libraries, and what to use here. */
const HINTS: OptionHints = {
  ...hintsFor(['url', 'uri', 'connectionString'], {
    advice: "use the URL itself: redis: 'redis://host:6379'",
  }),
  ...hintsFor(['hostname', 'server'], 'host'),
  connection: { advice: 'write its value itself: redis: { host, port }' },
  socket: 'host and port, or path',
  user: 'username',
  ...hintsFor(['pass', 'auth', 'auth_pass'], 'password'),
  ...hintsFor(['database', 'dbIndex'], 'db'),
  ssl: 'tls',
  prefix: 'keyPrefix',
  ...hintsFor(
    ['nodes', 'rootNodes', 'clusterNodes', 'startupNodes', 'hosts'],
    '{ cluster: [nodes], options }',
  ),
  masterName: 'name',
  ...hintsFor(['retryAttempts', 'retryDelay'], 'retryStrategy'),
  timeout: 'connectTimeout or commandTimeout',
};

/** What to use instead of an unknown name; `undefined` if no known name is similar. */
export function hintFor(name: string, known: ReadonlySet<string>): string | undefined {
  return adviceFor(name, {}, known, HINTS)?.text;
}

function namesOf<T>(names: Readonly<Record<keyof T, true>>): ReadonlySet<string> {
  return new Set(Object.keys(names));
}
