import { Cluster, type Redis } from 'ioredis';
import type { Check } from '../../src/core/check.js';
import type { Store } from '../../src/core/store.js';
import { SplitStore } from '../../src/store/layers/split-store.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { HashTags } from '../../src/store/redis/hash-tags.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { check } from './check.js';
import type { TestCluster } from './cluster.js';
import { endsKey, type FakeClock, withFakeTime } from './fake-time-client.js';
import { keysOf, plainClient, uniqueNamespace } from './redis.js';
import { prefixed, quiet } from './subjects.js';

/** A store whose time only the test moves. */
export interface TimedSubject {
  readonly store: Store;
  readonly clock: FakeClock;
  /** Milliseconds until a key expires; `undefined` without a key. */
  timeLeft(check: Pick<Check, 'key'>): Promise<number | undefined>;
  stop(): Promise<void>;
}

/** A Redis store whose time only the test moves. */
export interface TimedRedis extends TimedSubject {
  readonly client: Redis;
  /** The key in Redis. */
  full(key: string): string;
  /** What a key holds; the error of a key of another type; `undefined` without a key. */
  valueOf(key: string): Promise<string | undefined>;
  /** The keys without an expiry. */
  sweep(): Promise<string[]>;
  /** Deletes all keys of the store. */
  clear(): Promise<void>;
}

/** No window of a second to a year begins then. */
const START = 1_760_000_000_123;

export function timedMemory(clock: FakeClock = { nowMs: START }): TimedSubject {
  const now = (): number => clock.nowMs;
  const store = new MemoryStore(100_000, quiet, now, 'store', now);
  return {
    store,
    clock,
    timeLeft: ({ key }) => Promise.resolve(timeLeftInMemory(store, key, now())),
    stop: () => store.close(),
  };
}

/** Looks a counter up in each group. */
function timeLeftInMemory(store: MemoryStore, key: string, nowMs: number): number | undefined {
  const { counters } = store as unknown as {
    counters: { groups: Map<string, { get(text: string): { endsAtMs: number } | undefined }> };
  };
  for (const group of counters.groups.values()) {
    const counter = group.get(key);
    if (counter !== undefined && counter.endsAtMs >= nowMs) return counter.endsAtMs - nowMs;
  }
  return undefined;
}

export async function timedRedis(clock: FakeClock = { nowMs: START }, coalesce = true): Promise<TimedRedis> {
  const client = plainClient();
  const namespace = uniqueNamespace();
  const redis = withFakeTime(plainClient(), clock);
  const store = await RedisStore.create(
    { redis, namespace, timeoutMs: 30_000, coalesce, placement: undefined },
    quiet,
  );
  await store.open();
  const full = (key: string): string => `${namespace}:${key}`;
  return {
    ...partsOf(client, namespace, clock, full),
    store: prefixed(store, full),
    stop: async () => {
      await store.close();
      await Promise.all([client.quit(), redis.quit()]);
    },
  };
}

/** On a real cluster, where requests in several slots are split. */
export async function timedCluster(
  nodes: TestCluster['nodes'],
  clock: FakeClock = { nowMs: START },
): Promise<TimedRedis> {
  const namespace = uniqueNamespace();
  const client = new Cluster([...nodes]);
  const redis = withFakeTime(new Cluster([...nodes]), clock);
  for (const one of [client, redis]) one.on('error', () => undefined);
  const placement = new HashTags({ namespace, hashTag: undefined });
  const inRedis = await RedisStore.create(
    { redis, namespace, timeoutMs: 30_000, coalesce: true, placement },
    quiet,
  );
  await inRedis.open();
  const store = new SplitStore(inRedis, {
    groupOf: (one) => placement.tagOf(one),
    clock: () => clock.nowMs,
    waitClock: () => performance.now(),
  });
  const named = (key: string): string => `${namespace}:${key}`;
  const group = `${namespace}:`;
  const full = (key: string): string => placement.keyOf(check(named(key), { group }));
  return {
    ...partsOf(client as unknown as Redis, namespace, clock, full),
    store: prefixed(store, named, group),
    stop: async () => {
      await inRedis.close();
      await Promise.all([client.quit(), redis.quit()]);
    },
  };
}

function partsOf(
  client: Redis,
  namespace: string,
  clock: FakeClock,
  full: (key: string) => string,
): Pick<TimedRedis, 'client' | 'clock' | 'full' | 'valueOf' | 'sweep' | 'timeLeft' | 'clear'> {
  const keys = (): Promise<string[]> => keysOf(client, namespace);
  const del = async (names: readonly string[]): Promise<void> => {
    await Promise.all(names.map((name) => client.del(name)));
  };
  const timeLeft = async (name: string): Promise<number | undefined> => {
    const [exists, ends] = [await client.exists(name), await client.hget(endsKey(name), name)];
    const left = exists === 0 || ends === null ? -1 : Number(ends) - clock.nowMs;
    return left < 0 ? undefined : left;
  };
  return {
    client,
    clock,
    full,
    sweep: async () => {
      const names = await keys();
      const ends = await Promise.all(names.map((name) => client.hexists(endsKey(name), name)));
      return names.filter((_, i) => ends[i] === 0);
    },
    timeLeft: async ({ key }) => timeLeft(full(key)),
    valueOf: async (key) => {
      const name = full(key);
      const value = await client.getBuffer(name).catch((error: unknown) => (error as Error).message);
      const left = await timeLeft(name);
      return left === undefined || value === null ? undefined : value.toString('latin1');
    },
    clear: async () => {
      const names = await keys();
      await del([...names, ...new Set(names.map(endsKey))]);
    },
  };
}
