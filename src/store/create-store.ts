import { DenyCache } from './layers/deny-cache.js';
import { FallbackStore } from './layers/fallback-store.js';
import { MemoryStore } from './memory/memory-store.js';
import { SplitStore } from './layers/split-store.js';
import { listeningClock } from './redis/listening-clock.js';
import { type HashTag, HashTags } from './redis/hash-tags.js';
import { isClustered, type RedisOption } from './redis/redis-option.js';
import { RedisStore } from './redis/redis-store.js';
import type { Store, StoreLog } from '../core/store.js';
import { warnOfWorkers } from './memory/workers.js';

const HASH_TAG_BUCKETS = 256;

export interface StoreOptions {
  readonly redis: RedisOption | undefined;
  readonly namespace: string;
  readonly timeoutMs: number;
  readonly coalesce: boolean;
  readonly denyCache: boolean;
  readonly maxCounters: number;
  readonly fallbackShare: number;
  readonly hashTag: HashTag | undefined;
}

/** The store that the options ask for: Redis where they name one, else this process's memory. */
export async function createStore(options: StoreOptions, log: StoreLog): Promise<Store> {
  const { redis, namespace, timeoutMs, coalesce, maxCounters, fallbackShare } = options;
  if (redis === undefined) {
    warnOfWorkers(log);
    return new MemoryStore(maxCounters, log);
  }
  const placement = isClustered(redis) ? placementOf(options) : undefined;
  const inRedis = await RedisStore.create({ redis, namespace, timeoutMs, coalesce, placement }, log);
  const fallback = new MemoryStore(maxCounters, log, undefined, 'memory');
  const guarded = new FallbackStore(inRedis, fallback, fallbackShare);
  if (placement === undefined) return options.denyCache ? new DenyCache(guarded) : guarded;
  // each part of a request is guarded by itself: what one server cannot say, the others still do
  const parted = new SplitStore(
    guarded,
    (check) => placement.tagOf(check),
    (checks) => cache?.forget(checks),
    undefined,
    () => listeningClock.now(),
  );
  const cache = options.denyCache ? new DenyCache(parted) : undefined;
  return cache ?? parted;
}

function placementOf({ namespace, hashTag }: StoreOptions): HashTags {
  return new HashTags({ namespace, hashTag, buckets: HASH_TAG_BUCKETS });
}
