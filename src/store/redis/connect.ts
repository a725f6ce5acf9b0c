import type { Cluster, Redis } from 'ioredis';
import { BorrowedConnection } from './borrowed-connection.js';
import type { Connection } from './connection.js';
import type { ConnectionOptions } from './followed-connection.js';
import { clusterOptions, limiterOptions } from './limiter-options.js';
import { type Ioredis, loadIoredis } from './load-ioredis.js';
import { OwnConnection } from './own-connection.js';
import { isClient, isClusterOption, type RedisClient, type RedisOption } from './redis-option.js';

/** A client that the limiter has made, or one that was passed as an option. */
export type ClientInUse =
  | { readonly isOwn: true; readonly client: Redis | Cluster }
  | { readonly isOwn: false; readonly client: RedisClient };

/** The client of the option `redis`: the one that was passed, or a new one that is not connected yet. */
export async function clientFor(redis: RedisOption): Promise<ClientInUse> {
  if (isClient(redis)) return { isOwn: false, client: redis };
  return { isOwn: true, client: createClient(await loadIoredis(), redis) };
}

/** The connection of a client. Calls the listener from then on. */
export function connectionOf(used: ClientInUse, timeoutMs: number, options: ConnectionOptions): Connection {
  return used.isOwn
    ? new OwnConnection(used.client, timeoutMs, options)
    : new BorrowedConnection(used.client, options);
}

function createClient(ioredis: Ioredis, redis: Exclude<RedisOption, RedisClient>): Redis | Cluster {
  const defaults = limiterOptions();
  if (typeof redis === 'string') return new ioredis.Redis(redis, { ...defaults, lazyConnect: true });
  if (!isClusterOption(redis))
    return new ioredis.Redis({ ...defaults, ...withoutUndefined(redis), lazyConnect: true });
  const { cluster, options = {} } = redis;
  return new ioredis.Cluster(cluster, {
    ...clusterOptions(),
    ...withoutUndefined(options),
    redisOptions: { ...defaults, ...withoutUndefined(options.redisOptions ?? {}) },
    lazyConnect: true,
  });
}

/** `undefined` means "not set", and must not override what a limiter needs. */
function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
