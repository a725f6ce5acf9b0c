import type { ConnectionOptions } from 'node:tls';

/*
 * The options of ioredis 5 and 6. They are declared here because an application that counts in memory does not need ioredis
 * and must still compile. The option types of both versions are assignable to these.
 */

/** Maps the address of a server to the address where this process can reach it; or a function that does so. */
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

/** Options of both a client of one server and a Cluster's client. */
interface SharedOptions {
  /**
   * ioredis adds it before every key, before `namespace`. The key patterns of the Redis user must include it.
   * @default none
   */
  readonly keyPrefix?: string | undefined;
  readonly showFriendlyErrorStack?: boolean | undefined;
  readonly enableOfflineQueue?: boolean | undefined;
  readonly enableReadyCheck?: boolean | undefined;
  readonly enableAutoPipelining?: boolean | undefined;
  readonly autoPipeliningIgnoredCommands?: string[] | undefined;
  /** No effect: the limiter always connects when the application starts. */
  readonly lazyConnect?: boolean | undefined;
  readonly scripts?: RedisScripts | undefined;
  readonly himportFieldsets?: readonly object[] | undefined;
  readonly natMap?: RedisNatMap | undefined;
}

/** The options of ioredis' `Redis`. They override the defaults of the limiter. */
export interface RedisConnectionOptions extends SharedOptions {
  /** @default 'localhost' */
  readonly host?: string | undefined;
  /** @default 6379 */
  readonly port?: number | undefined;
  /** The path of a unix socket, instead of `host` and `port`. */
  readonly path?: string | undefined;
  readonly family?: number | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /**
   * The number of the database. For any but 0, the Redis user needs the permission `+select`.
   * @default 0
   */
  readonly db?: number | undefined;
  readonly tls?: ConnectionOptions | undefined;
  /** Sentinels that know the primary, instead of `host` and `port`; requires `name`. */
  readonly sentinels?:
    | readonly {
        readonly host?: string | undefined;
        readonly port?: number | undefined;
        readonly family?: number | undefined;
      }[]
    | undefined;
  /** The name of the primary among the sentinels. */
  readonly name?: string | undefined;
  /** Only `'master'`, because counters can only be written to the primary; `'slave'` fails at start-up. */
  readonly role?: 'master' | 'slave' | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  readonly sentinelTLS?: ConnectionOptions | undefined;
  readonly enableTLSForSentinelMode?: boolean | undefined;
  readonly sentinelRetryStrategy?: RetryStrategy;
  readonly sentinelReconnectStrategy?: RetryStrategy;
  readonly sentinelCommandTimeout?: number | undefined;
  readonly sentinelMaxConnections?: number | undefined;
  readonly updateSentinels?: boolean | undefined;
  readonly failoverDetector?: boolean | undefined;
  readonly preferredSlaves?:
    | ((replicas: { port: string; ip: string; flags?: string }[]) => {
        port: string;
        ip: string;
        flags?: string | undefined;
      } | null)
    | readonly SentinelReplica[]
    | SentinelReplica
    | undefined;
  readonly connectionName?: string | undefined;
  readonly disableClientInfo?: boolean | undefined;
  readonly clientInfoTag?: string | undefined;
  readonly connectTimeout?: number | undefined;
  readonly disconnectTimeout?: number | undefined;
  readonly commandTimeout?: number | undefined;
  readonly blockingTimeout?: number | undefined;
  readonly blockingTimeoutGrace?: number | undefined;
  readonly socketTimeout?: number | undefined;
  readonly keepAlive?: number | undefined;
  readonly noDelay?: boolean | undefined;
  readonly maxLoadingRetryTime?: number | undefined;
  readonly maxRetriesPerRequest?: number | null | undefined;
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  readonly autoResubscribe?: boolean | undefined;
  /** `null`: a lost connection is never opened again. */
  readonly retryStrategy?: RetryStrategy;
  readonly reconnectOnError?: ((error: Error) => boolean | 1 | 2) | null | undefined;
  readonly readOnly?: boolean | undefined;
  readonly stringNumbers?: boolean | undefined;
  readonly protocol?: 2 | 3 | undefined;
  readonly replyMapping?: 'legacy' | 'resp3' | undefined;
  readonly monitor?: boolean | undefined;
  readonly offlineQueue?: boolean | undefined;
  readonly commandQueue?: boolean | undefined;
  readonly Connector?: unknown;
}

/** Options that differ for each node of a Cluster, or that the Cluster itself decides. */
type NotForNodes =
  | 'host'
  | 'port'
  | 'path'
  | 'sentinels'
  | 'retryStrategy'
  | 'enableOfflineQueue'
  | 'readOnly'
  | 'himportFieldsets';

/** The options of ioredis' `Cluster`. They override the defaults of the limiter. */
export interface RedisClusterClientOptions extends SharedOptions {
  readonly clusterRetryStrategy?: ((times: number, reason?: Error) => Milliseconds) | null | undefined;
  readonly clusterNodeRetryStrategy?: RetryStrategy;
  readonly dnsLookup?:
    | ((
        hostname: string,
        callback: (error: NodeJS.ErrnoException | null | undefined, address: string, family?: number) => void,
      ) => void)
    | undefined;
  readonly useSRVRecords?: boolean | undefined;
  readonly resolveSrv?:
    | ((
        hostname: string,
        callback: (
          error: NodeJS.ErrnoException | null | undefined,
          records?: { name: string; port: number; priority: number; weight: number }[],
        ) => void,
      ) => void)
    | undefined;
  /** No effect: all calls write counters, so they go to primaries. */
  // eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as ioredis has it
  readonly scaleReads?: 'master' | 'slave' | 'all' | Function | undefined;
  readonly maxRedirections?: number | undefined;
  readonly retryDelayOnFailover?: number | undefined;
  readonly retryDelayOnClusterDown?: number | undefined;
  readonly retryDelayOnTryAgain?: number | undefined;
  readonly retryDelayOnMoved?: number | undefined;
  readonly slotsRefreshTimeout?: number | undefined;
  readonly slotsRefreshInterval?: number | undefined;
  readonly shardedSubscribers?: boolean | undefined;
  /** The options of each node's connection: `username`, `password`, `tls`, … */
  readonly redisOptions?: RedisNodeOptions | undefined;
}

/** The options of the connection to each node of a Cluster. */
export type RedisNodeOptions = Omit<RedisConnectionOptions, NotForNodes>;

/** Some nodes of a Redis Cluster, from which the others are found, and the options of ioredis' `Cluster`. */
export interface RedisClusterOptions {
  /** At least one: `{ host, port }`, `'redis://host:6379'` or a port. */
  readonly cluster: readonly (
    string | number | { readonly host?: string | undefined; readonly port?: number | undefined }
  )[];
  readonly options?: RedisClusterClientOptions | undefined;
}
