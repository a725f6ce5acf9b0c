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
const HINTS: Readonly<Record<string, string>> = {
  url: "use the URL itself: redis: 'redis://host:6379'",
  uri: "use the URL itself: redis: 'redis://host:6379'",
  connectionString: "use the URL itself: redis: 'redis://host:6379'",
  hostname: 'did you mean host?',
  server: 'did you mean host?',
  socket: 'did you mean host and port, or path?',
  user: 'did you mean username?',
  pass: 'did you mean password?',
  auth: 'did you mean password?',
  auth_pass: 'did you mean password?',
  database: 'did you mean db?',
  ssl: 'did you mean tls?',
  prefix: 'did you mean keyPrefix?',
  nodes: 'did you mean { cluster: [nodes], options }?',
  rootNodes: 'did you mean { cluster: [nodes], options }?',
  masterName: 'did you mean name?',
  timeout: 'did you mean connectTimeout or commandTimeout?',
};

/** What to use instead of an unknown name; `undefined` if no known name is similar. */
export function hintFor(name: string, known: ReadonlySet<string>): string | undefined {
  if (Object.hasOwn(HINTS, name)) return HINTS[name];
  const near = nearest(name, known);
  return near === undefined ? undefined : `did you mean ${near}?`;
}

/** The known name that differs by at most two characters, ignoring case. */
function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  const max = Math.min(2, Math.floor(name.length / 3));
  let best: string | undefined;
  let min = max + 1;
  for (const one of known) {
    if (Math.abs(one.length - name.length) > max) continue;
    const steps = distance(name.toLowerCase(), one.toLowerCase());
    if (steps < min) [best, min] = [one, steps];
  }
  return best;
}

/** The number of insertions, deletions, changes and swaps of neighbors between two strings (Damerau-Levenshtein). */
function distance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const changed = (last[j - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed, swapped));
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}

function namesOf<T>(names: Readonly<Record<keyof T, true>>): ReadonlySet<string> {
  return new Set(Object.keys(names));
}
