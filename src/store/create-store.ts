import { MemoryStore } from './memory/memory-store.js';
import type { RedisOption } from './redis/redis-client.js';
import { RedisStore } from './redis/redis-store.js';
import type { Store, StoreLog } from './store.js';

export interface StoreOptions {
  readonly redis: RedisOption | undefined;
  readonly timeoutMs: number;
  readonly maxCounters: number;
}

/** The store that the options ask for: Redis where they name one, else this process's memory. */
export async function createStore(options: StoreOptions, log: StoreLog): Promise<Store> {
  return options.redis === undefined
    ? new MemoryStore(options.maxCounters, log)
    : RedisStore.create(options.redis, options.timeoutMs, log);
}
