import type { RedisClusterOptions, RedisConnectionOptions } from './redis-options.js';

/**
 * A client of ioredis 5 or 6, `Redis` or `Cluster`, from any copy of the package. It is recognized by its methods, because
 * the class of another copy is a different class.
 */
export interface RedisClient {
  /** State of the connection; commands are sent only while it is `'ready'`. */
  readonly status: string;
  /** Whether it is a client of a Cluster. */
  readonly isCluster: boolean;
  /** The socket; `undefined` before the first connection. */
  readonly stream?: { cork(): void; uncork(): void; readonly writable?: boolean } | undefined;
  /** Runs a cached script. */
  evalsha(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  /** Deletes keys. */
  del(...keys: string[]): Promise<unknown>;
  /** Sends several commands together. */
  pipeline?(commands: (string | number)[][]): {
    exec(): Promise<[error: Error | null, answer: unknown][] | null>;
  };
  /** Opens the connection. */
  connect?(): Promise<unknown>;
  /** Chooses the database. */
  select?(db: number): Promise<unknown>;
  /** Tests the connection. */
  ping?(): Promise<unknown>;
  /** Adds a listener for a change of the connection. */
  on?(event: 'ready' | 'close' | 'end' | 'error', listener: (error: unknown) => void): unknown;
  /** Removes a listener. */
  off?(event: 'ready' | 'close' | 'end' | 'error', listener: (error: unknown) => void): unknown;
  /** The options that the client was made with. */
  readonly options?: object | undefined;
  /** In a Cluster: the servers of each slot, the primary first. */
  readonly slots?: readonly (readonly string[] | undefined)[] | undefined;
}

/** A URL, the options of a client, or a client. */
export type RedisOption = string | RedisConnectionOptions | RedisClusterOptions | RedisClient;

export function isClient(redis: unknown): redis is RedisClient {
  const client = redis as Partial<RedisClient> | null;
  return (
    typeof client?.evalsha === 'function' &&
    typeof client.eval === 'function' &&
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
