import { DenyCache } from './deny-cache.js';
import { MemoryStore } from './memory/memory-store.js';
import type { RedisOption } from './redis/redis-client.js';
import { RedisStore } from './redis/redis-store.js';
import type { Store, StoreLog } from './store.js';

export interface StoreOptions {
  readonly redis: RedisOption | undefined;
  readonly timeoutMs: number;
  readonly coalesce: boolean;
  readonly denyCache: boolean;
  readonly maxCounters: number;
}

/** The store that the options ask for: Redis where they name one, else this process's memory. */
export async function createStore(options: StoreOptions, log: StoreLog): Promise<Store> {
  const { redis, timeoutMs, coalesce, denyCache, maxCounters } = options;
  if (redis === undefined) return new MemoryStore(maxCounters, log);
  const store = await RedisStore.create({ redis, timeoutMs, coalesce }, log);
  return denyCache ? new DenyCache(store) : store;
}
