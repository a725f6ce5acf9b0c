import type { ConnectionOptions } from 'node:tls';

/*
 * The options of ioredis 5 and 6. They are declared here because an application that counts in memory does not need ioredis
 * and must still compile. The option types of both versions are assignable to these.
 */

/** Maps the address of a server to the address at which this process reaches it: an object or a function. */
export type RedisNatMap =
  | Readonly<Record<string, { readonly host: string; readonly port: number }>>
  | ((address: string) => { host: string; port: number } | null);

// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- as ioredis has it
type Milliseconds = number | void | null;

type RetryStrategy = ((times: number) => Milliseconds) | null | undefined;

type RedisScripts = Readonly<
  Record<
    string,
    {
      readonly lua: string;
      readonly numberOfKeys?: number | undefined;
      readonly readOnly?: boolean | undefined;
    }
  >
>;

interface SentinelReplica {
  readonly port: string;
  readonly ip: string;
  readonly prio?: number | undefined;
}

/** Options of both a client of one server and a client of a Cluster. */
interface SharedOptions {
  /**
   * Prefix that ioredis adds to every key, before `namespace`. Key patterns of the Redis user's permissions must include it.
   * @default none
   */
  readonly keyPrefix?: string | undefined;
  /**
   * Adds the caller's stack to errors of commands. It costs time; for debugging only.
   * @default false
   */
  readonly showFriendlyErrorStack?: boolean | undefined;
  /**
   * Whether commands wait for a connection that is not ready. With `true` requests wait up to `timeoutMs`.
   * @default false, set by the limiter
   */
  readonly enableOfflineQueue?: boolean | undefined;
  /**
   * Whether a connection is ready only after `INFO` (in a Cluster `CLUSTER INFO`) says so. Use `false` if the command is disabled.
   * @default true; `false` for a Cluster, set by the limiter
   */
  readonly enableReadyCheck?: boolean | undefined;
  /**
   * Whether ioredis sends the commands of one turn of the event loop together. The limiter has its own `coalesce`.
   * @default false
   */
  readonly enableAutoPipelining?: boolean | undefined;
  /**
   * Commands that automatic pipelining leaves out.
   * @default none
   */
  readonly autoPipeliningIgnoredCommands?: string[] | undefined;
  /** It has no effect: the limiter connects when the application starts. */
  readonly lazyConnect?: boolean | undefined;
  /** Lua commands to define on the client. The limiter needs none. */
  readonly scripts?: RedisScripts | undefined;
  /** Fieldsets for `HIMPORT`, of ioredis 6 and Redis 8.10. The limiter does not use them. */
  readonly himportFieldsets?: readonly object[] | undefined;
  /**
   * Addresses of servers as this process reaches them, for servers in Docker or another network.
   * @default none
   */
  readonly natMap?: RedisNatMap | undefined;
}

/** Options of the connection to one server or to sentinels: those of ioredis' `Redis`. They override what the limiter sets. */
export interface RedisConnectionOptions extends SharedOptions {
  /**
   * Host name or address of the server.
   * @default 'localhost'
   */
  readonly host?: string | undefined;
  /**
   * Port of the server.
   * @default 6379
   */
  readonly port?: number | undefined;
  /** Path of a Unix socket, instead of `host` and `port`. */
  readonly path?: string | undefined;
  /**
   * IP version of the connection: 4, 6, or 0 for both.
   * @default 0
   */
  readonly family?: number | undefined;
  /**
   * User for `AUTH` (Redis 6 and later).
   * @default none: the user `default`
   */
  readonly username?: string | undefined;
  /**
   * Password for `AUTH`. It is never logged.
   * @default none
   */
  readonly password?: string | undefined;
  /**
   * Number of the database. For any other than 0 the Redis user needs the permission `+select`.
   * @default 0
   */
  readonly db?: number | undefined;
  /**
   * Options of `tls.connect`; `{}` turns TLS on. With sentinels set `enableTLSForSentinelMode` too.
   * @default none: no TLS
   */
  readonly tls?: ConnectionOptions | undefined;
  /** Addresses of sentinels, which know the primary, instead of `host` and `port`. `name` is needed too. */
  readonly sentinels?:
    | readonly {
        readonly host?: string | undefined;
        readonly port?: number | undefined;
        readonly family?: number | undefined;
      }[]
    | undefined;
  /** Name that the sentinels have for the primary. */
  readonly name?: string | undefined;
  /** Only `'master'`, because counters are written; `'slave'` stops the application at start-up. */
  readonly role?: 'master' | 'slave' | undefined;
  /**
   * User for `AUTH` on the sentinels.
   * @default none
   */
  readonly sentinelUsername?: string | undefined;
  /**
   * Password for `AUTH` on the sentinels. It is never logged.
   * @default none
   */
  readonly sentinelPassword?: string | undefined;
  /**
   * Options of `tls.connect` for connections to sentinels.
   * @default none
   */
  readonly sentinelTLS?: ConnectionOptions | undefined;
  /**
   * Whether connections to servers found by sentinels use TLS. It needs `tls` too.
   * @default false
   */
  readonly enableTLSForSentinelMode?: boolean | undefined;
  /**
   * Milliseconds until the sentinels are queried again, after none of them knew the primary.
   * @default 10 ms more each time, up to 1 s
   */
  readonly sentinelRetryStrategy?: RetryStrategy;
  /**
   * Milliseconds until a lost connection to a sentinel is opened again, for `failoverDetector`.
   * @default 60000
   */
  readonly sentinelReconnectStrategy?: RetryStrategy;
  /**
   * Milliseconds to wait for a sentinel before the next one is queried.
   * @default 1000, set by the limiter
   */
  readonly sentinelCommandTimeout?: number | undefined;
  /**
   * Maximum number of connections to sentinels, for `failoverDetector`.
   * @default 10
   */
  readonly sentinelMaxConnections?: number | undefined;
  /**
   * Whether sentinels that other sentinels report are added to the list.
   * @default true
   */
  readonly updateSentinels?: boolean | undefined;
  /**
   * Whether the sentinels report a new primary, so that the old one is left at once.
   * @default true, set by the limiter
   */
  readonly failoverDetector?: boolean | undefined;
  /** Which replica to prefer. It has no effect, because counters are written to the primary. */
  readonly preferredSlaves?:
    | ((replicas: { port: string; ip: string; flags?: string }[]) => {
        port: string;
        ip: string;
        flags?: string | undefined;
      } | null)
    | readonly SentinelReplica[]
    | SentinelReplica
    | undefined;
  /**
   * Name of the connection in `CLIENT LIST`.
   * @default none
   */
  readonly connectionName?: string | undefined;
  /**
   * Whether to omit `CLIENT SETINFO`.
   * @default false
   */
  readonly disableClientInfo?: boolean | undefined;
  /**
   * Tag after the library's name in `CLIENT SETINFO`.
   * @default none
   */
  readonly clientInfoTag?: string | undefined;
  /**
   * Milliseconds to wait for a new connection.
   * @default 1000, set by the limiter
   */
  readonly connectTimeout?: number | undefined;
  /**
   * Milliseconds until a closed connection is destroyed.
   * @default 50, set by the limiter
   */
  readonly disconnectTimeout?: number | undefined;
  /**
   * Milliseconds to wait for an answer while a connection is set up. Requests wait `timeoutMs`.
   * @default 1000, or twice `timeoutMs` if that is longer; set by the limiter
   */
  readonly commandTimeout?: number | undefined;
  /** Milliseconds until a blocking command fails. The limiter sends none. */
  readonly blockingTimeout?: number | undefined;
  /** Milliseconds added to `blockingTimeout`. It has no effect. */
  readonly blockingTimeoutGrace?: number | undefined;
  /**
   * Milliseconds without data until a connection with open commands counts as lost.
   * @default 500, or twice `timeoutMs` if that is longer; set by the limiter
   */
  readonly socketTimeout?: number | undefined;
  /**
   * Milliseconds until the first TCP keep-alive probe.
   * @default 10000, set by the limiter
   */
  readonly keepAlive?: number | undefined;
  /**
   * Whether to turn Nagle's algorithm off.
   * @default true
   */
  readonly noDelay?: boolean | undefined;
  /**
   * Maximum milliseconds between checks whether a server has loaded its data.
   * @default 10000
   */
  readonly maxLoadingRetryTime?: number | undefined;
  /**
   * How many reconnects a command survives before it fails.
   * @default 0, set by the limiter: with more, requests may count twice
   */
  readonly maxRetriesPerRequest?: number | null | undefined;
  /**
   * Whether to send unanswered commands again after a reconnect.
   * @default false, set by the limiter: with `true`, requests may count twice
   */
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  /** Whether to restore subscriptions after a reconnect. The limiter has none. */
  readonly autoResubscribe?: boolean | undefined;
  /**
   * Milliseconds until a lost connection is opened again; `null`: never.
   * @default up to 10 ms, then 50 ms more each time, up to 1 s; set by the limiter
   */
  readonly retryStrategy?: RetryStrategy;
  /**
   * Whether to reconnect after an error of Redis: `false`, `true` or 1, or 2 to send the command again, which may count twice.
   * @default 1 for READONLY, LOADING and MASTERDOWN, set by the limiter
   */
  readonly reconnectOnError?: ((error: Error) => boolean | 1 | 2) | null | undefined;
  /**
   * Whether to send `READONLY`, for replicas of a Cluster. Counters need a primary.
   * @default false
   */
  readonly readOnly?: boolean | undefined;
  /**
   * Whether numbers in replies are strings. The limiter works with both.
   * @default false
   */
  readonly stringNumbers?: boolean | undefined;
  /**
   * Version of the protocol RESP.
   * @default 3; ioredis 5 has only 2
   */
  readonly protocol?: 2 | 3 | undefined;
  /**
   * Form of RESP3 replies (ioredis 6). The limiter works with both.
   * @default 'legacy'
   */
  readonly replyMapping?: 'legacy' | 'resp3' | undefined;
  /**
   * Whether to enter `MONITOR` mode, in which nothing can be counted.
   * @default false
   */
  readonly monitor?: boolean | undefined;
  /** Internal to ioredis. */
  readonly offlineQueue?: boolean | undefined;
  /** Internal to ioredis. */
  readonly commandQueue?: boolean | undefined;
  /** Class that opens the connection, in place of those of ioredis. */
  readonly Connector?: unknown;
}

/** Options that differ between the nodes of a Cluster, or that belong to the Cluster. */
type NotForNodes =
  | 'host'
  | 'port'
  | 'path'
  | 'sentinels'
  | 'retryStrategy'
  | 'enableOfflineQueue'
  | 'readOnly'
  | 'himportFieldsets';

/** Options of the client of a Cluster: those of ioredis' `Cluster`. They override what the limiter sets. */
export interface RedisClusterClientOptions extends SharedOptions {
  /**
   * Milliseconds until the nodes are tried again, after none answered; `null`: never.
   * @default up to 10 ms, then 50 ms more each time, up to 1 s; set by the limiter
   */
  readonly clusterRetryStrategy?: ((times: number, reason?: Error) => Milliseconds) | null | undefined;
  /**
   * Milliseconds until the lost connection to one node is opened again (ioredis 6); `null`: never.
   * @default null
   */
  readonly clusterNodeRetryStrategy?: RetryStrategy;
  /**
   * Resolves the host names of nodes.
   * @default `dns.lookup`
   */
  readonly dnsLookup?:
    | ((
        hostname: string,
        callback: (error: NodeJS.ErrnoException | null | undefined, address: string, family?: number) => void,
      ) => void)
    | undefined;
  /**
   * Whether the host names of `cluster` are names of SRV records.
   * @default false
   */
  readonly useSRVRecords?: boolean | undefined;
  /**
   * Resolves SRV records.
   * @default `dns.resolveSrv`
   */
  readonly resolveSrv?:
    | ((
        hostname: string,
        callback: (
          error: NodeJS.ErrnoException | null | undefined,
          records?: { name: string; port: number; priority: number; weight: number }[],
        ) => void,
      ) => void)
    | undefined;
  /** It has no effect: all calls write counters, and go to primaries. */
  // eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as ioredis has it
  readonly scaleReads?: 'master' | 'slave' | 'all' | Function | undefined;
  /**
   * Maximum number of redirections (MOVED, ASK) of a command.
   * @default 4, set by the limiter
   */
  readonly maxRedirections?: number | undefined;
  /**
   * Milliseconds until a command on a lost connection is sent again; 0: never.
   * @default 0, set by the limiter: with more, requests may count twice
   */
  readonly retryDelayOnFailover?: number | undefined;
  /**
   * Milliseconds until a command is sent again after CLUSTERDOWN.
   * @default 100, set by the limiter
   */
  readonly retryDelayOnClusterDown?: number | undefined;
  /**
   * Milliseconds until a command is sent again after TRYAGAIN.
   * @default 20, set by the limiter
   */
  readonly retryDelayOnTryAgain?: number | undefined;
  /**
   * Milliseconds until a command is sent again after MOVED.
   * @default 0
   */
  readonly retryDelayOnMoved?: number | undefined;
  /**
   * Milliseconds to wait for the table of slots.
   * @default 1000, set by the limiter
   */
  readonly slotsRefreshTimeout?: number | undefined;
  /**
   * Minimum milliseconds between two refreshes of the table of slots.
   * @default 5000, set by the limiter
   */
  readonly slotsRefreshInterval?: number | undefined;
  /** Whether to open connections for sharded subscriptions. The limiter has none. */
  readonly shardedSubscribers?: boolean | undefined;
  /** Options of the connection to each node: `username`, `password`, `tls`, … */
  readonly redisOptions?: RedisNodeOptions | undefined;
}

/** Options of the connection to each node of a Cluster. */
export type RedisNodeOptions = Omit<RedisConnectionOptions, NotForNodes>;

/** A Redis Cluster: some of its nodes, which know the others, and options of the client. */
export interface RedisClusterOptions {
  /**
   * At least one node: `{ host, port }`, `'redis://host:6379'` or a port. A password or `rediss://` in a URL applies to all
   * nodes of the Cluster.
   */
  readonly cluster: readonly (
    string | number | { readonly host?: string | undefined; readonly port?: number | undefined }
  )[];
  /** Options of the client. */
  readonly options?: RedisClusterClientOptions | undefined;
}
