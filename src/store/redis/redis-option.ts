import type { RedisClusterOptions, RedisConnectionOptions } from './redis-options.js';

/**
 * A client of ioredis 5 or 6, `Redis` or `Cluster`, from any copy of the package. It is recognized by its methods, because
 * the class of another copy is a different class.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster: boolean;
  /** The socket; `undefined` before the first connection. */
  readonly stream?: { cork(): void; uncork(): void; readonly writable?: boolean } | undefined;
  evalsha(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, numkeys: number, ...args: string[]): Promise<unknown>;
  del(...keys: string[]): Promise<unknown>;
  pipeline?(commands: (string | number)[][]): {
    exec(): Promise<[error: Error | null, answer: unknown][] | null>;
  };
  connect?(): Promise<unknown>;
  select?(db: number): Promise<unknown>;
  ping?(): Promise<unknown>;
  on?(event: 'ready' | 'close' | 'end' | 'error', listener: (error: unknown) => void): unknown;
  off?(event: 'ready' | 'close' | 'end' | 'error', listener: (error: unknown) => void): unknown;
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
