import type { Log } from '../core/log.js';
import type { Store } from '../core/store.js';
import { CachedCounts } from './layers/cached-counts.js';
import { DenyCache } from './layers/deny-cache.js';
import { FallbackStore } from './layers/fallback-store.js';
import { SplitStore } from './layers/split-store.js';
import { MemoryStore } from './memory/memory-store.js';
import { type MemoryReason, warnOfMemory } from './memory/memory-warnings.js';
import { type HashTag, HashTags } from './redis/hash-tags.js';
import { listeningClock } from './redis/listening-clock.js';
import { isClustered, type RedisOption } from './redis/redis-option.js';
import { RedisStore } from './redis/redis-store.js';

export interface StoreOptions {
  /** `undefined`: in the memory of this process. */
  readonly redis: RedisOption | undefined;
  readonly memoryReason?: MemoryReason;
  readonly namespace: string;
  /** Whether a wrong configuration of Redis makes `open` fail; `undefined`: it does not. */
  readonly requireStore?: boolean | undefined;
  readonly timeoutMs: number;
  readonly coalesce: boolean;
  readonly denyCache: boolean;
  readonly maxCounters: number;
  readonly fallbackShare: number;
  readonly hashTag: HashTag | undefined;
}

/**
 * The store for these options: the memory of this process, or Redis if `redis` is set. In front of Redis are these layers,
 * and a request takes them in this order:
 *
 * - `DenyCache` denies from memory what Redis would deny again;
 * - `SplitStore`, only for a Cluster, groups the checks by hash tag;
 * - `FallbackStore` applies `onStoreError` when Redis does not answer.
 */
export async function createStore(options: StoreOptions, log: Log): Promise<Store> {
  const { redis, namespace, denyCache, maxCounters, fallbackShare, hashTag } = options;
  if (redis === undefined) {
    warnOfMemory(options.memoryReason, log);
    return new MemoryStore(maxCounters, log);
  }
  const placement = isClustered(redis) ? new HashTags({ namespace, hashTag }) : undefined;
  const inRedis = await RedisStore.create({ ...options, redis, placement }, log);
  const fallback = new MemoryStore(maxCounters, log, undefined, 'memory');
  // after the split, so that a server that is down affects only the checks whose counters it has
  const withFallback = new FallbackStore(inRedis, fallback, fallbackShare);
  const cachedCounts = denyCache ? new CachedCounts() : undefined;
  const store = placement === undefined ? withFallback : split(withFallback, placement, cachedCounts);
  return cachedCounts === undefined ? store : new DenyCache(store, undefined, cachedCounts);
}

function split(store: Store, placement: HashTags, cachedCounts: CachedCounts | undefined): Store {
  return new SplitStore(store, {
    groupOf: (check) => placement.tagOf(check),
    cachedCounts,
    waitClock: () => listeningClock.now(),
  });
}
