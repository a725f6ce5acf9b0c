import type { RedisClusterOptions, RedisConnectionOptions } from './redis-options.js';

/**
 * A client of ioredis 5 or 6, `Redis` or `Cluster`, from any copy of the package. It is recognized by its methods, because
 * the class of another copy is a different class.
 */
export interface RedisClient {
  /** The state of the connection, such as `'ready'`. */
  readonly status: string;
  /** `true` for a `Cluster`. */
  readonly isCluster: boolean;
  /** The socket; `undefined` before the first connection. */
  readonly stream?: { cork(): void; uncork(): void; readonly writable?: boolean } | undefined;
  /** Runs a script by its hash, and returns strings as bytes. Required; optional here because the types of ioredis lack it. */
  evalshaBuffer?(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>;
  /** Runs a script by its text, if the server does not know the hash. Required too. */
  evalBuffer?(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  /** Deletes counters. */
  del(...keys: string[]): Promise<unknown>;
  /** Sends several commands in one write. */
  pipeline?(commands: (string | number)[][]): {
    exec(): Promise<[error: Error | null, answer: unknown][] | null>;
  };
  /** Connects a client with `lazyConnect`. */
  connect?(): Promise<unknown>;
  /** Selects the database after a connection was made. */
  select?(db: number): Promise<unknown>;
  /** Checks whether the connection answers. */
  ping?(): Promise<unknown>;
  /** Listens to changes of the connection. */
  on?(event: 'ready' | 'close' | 'end' | 'error', listener: (error: unknown) => void): unknown;
  /** Removes such a listener. */
  off?(event: 'ready' | 'close' | 'end' | 'error', listener: (error: unknown) => void): unknown;
  /** The client's options, for warnings at start-up. */
  readonly options?: object | undefined;
  /** In a Cluster: the servers of each slot, the primary first. */
  readonly slots?: readonly (readonly string[] | undefined)[] | undefined;
}

/** A URL, the options of a client, or a client. */
export type RedisOption = string | RedisConnectionOptions | RedisClusterOptions | RedisClient;

export function isClient(redis: unknown): redis is RedisClient {
  const client = redis as Partial<RedisClient> | null;
  return (
    typeof client?.evalshaBuffer === 'function' &&
    typeof client.evalBuffer === 'function' &&
    typeof client.del === 'function'
  );
}

export function isClusterOption(redis: unknown): redis is RedisClusterOptions {
  return (Object(redis) as { readonly cluster?: unknown }).cluster !== undefined;
}

/** Whether the counters will lie in a Cluster. */
export function isClustered(redis: RedisOption | undefined): boolean {
  return isClient(redis) ? redis.isCluster : isClusterOption(redis);
}
