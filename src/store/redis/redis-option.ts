import type { RedisClusterOptions, RedisConnectionOptions } from './redis-options.js';

/**
 * What we need of a client: any `Redis` or `Cluster` of ioredis 5 or 6, whichever copy it comes from.
 * Known by its methods, since the class of another copy is another class.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster: boolean;
  /** The socket; none before the first connection. */
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
  /** Of a Cluster: the servers of each slot, its primary first. */
  readonly slots?: readonly (readonly string[] | undefined)[] | undefined;
}

/** Where Redis is, or a client that is already connected to it. */
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
