import { Cluster, type Redis } from 'ioredis';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { SplitStore } from '../../src/store/layers/split-store.js';
import { HashTags } from '../../src/store/redis/hash-tags.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import type { Check } from '../../src/core/check.js';
import { check } from './check.js';
import type { TestCluster } from './cluster.js';
import { Log } from '../../src/core/log.js';
import type { Store } from '../../src/core/store.js';
import type { Subject } from '../contract/store.contract.js';
import { keysOf, plainClient, redisUrl, sweep, uniqueNamespace } from './redis.js';

export const quiet = new Log({ log: () => undefined, warn: () => undefined, error: () => undefined });

/** The memory store with a clock that only the test moves. */
export function memorySubject(maxCounters = 100_000): Subject {
  let nowMs = 1_000_000;
  const store = new MemoryStore(maxCounters, quiet, () => nowMs);
  return {
    store,
    advance: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
    timeLeft: (one) => {
      const [result] = store.peek([{ ...one, cost: 0 }]);
      return Promise.resolve(result!.used === 0 ? undefined : result!.resetAfterMs);
    },
  };
}

export interface RedisSubject extends Subject {
  readonly client: Redis;
  readonly namespace: string;
  /** The key in Redis. */
  full(key: string): string;
  /** The faults of counters. */
  sweep(): Promise<string[]>;
  /** Deletes all counters of this subject. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

// Shortens the expiry of every counter, all in one step, and deletes those that would have expired. Also moves the times in
// counters: the end of a block, and the newest sub-window of a sliding window, by whole sub-windows.
const ADVANCE = `
local ms = tonumber(ARGV[1])
for _, key in ipairs(KEYS) do
  local left, value = redis.call('PTTL', key), redis.pcall('GET', key)
  local window = key:match(':(%d+)s:')
  if left >= 0 and left < ms then
    redis.call('DEL', key)
  elseif left >= 0 then
    local length = type(value) == 'string' and #value
    if length == 19 and value:find('^4%d+$') then
      redis.call('SET', key, ('4%018.0f'):format(value:sub(2) - ms))
    elseif window and length == 152 then
      local newest = struct.unpack('<d', value) - math.floor(ms * 16 / window)
      redis.call('SETRANGE', key, 0, struct.pack('<d', newest))
    end
    redis.call('PEXPIRE', key, left - ms)
  end
end`;

/** Moves time for all counters of a namespace on one server. */
export async function advanceRedis(client: Redis, namespace: string, ms: number): Promise<void> {
  const keys = await keysOf(client, namespace);
  if (keys.length > 0) await client.eval(ADVANCE, keys.length, ...keys, ms);
}

/** The Redis store on a real server, in its own namespace; time moves as the expiries of counters are shortened. */
export async function redisSubject(coalesce = true): Promise<RedisSubject> {
  const namespace = uniqueNamespace();
  const client = plainClient();
  const store = await RedisStore.create(
    { redis: redisUrl(), namespace, timeoutMs: 30_000, coalesce, placement: undefined },
    quiet,
  );
  const full = (key: string): string => `${namespace}:${key}`;
  return {
    client,
    namespace,
    store: prefixed(store, full),
    full,
    advance: (ms) => advanceRedis(client, namespace, ms),
    timeLeft: async ({ key }) => {
      const left = await client.pttl(full(key));
      return left === -2 ? undefined : left;
    },
    sweep: () => sweep(client, namespace),
    clear: async () => {
      const keys = await keysOf(client, namespace);
      if (keys.length > 0) await client.del(...keys);
    },
    stop: async () => {
      await store.close();
      await client.quit();
    },
  };
}

/** The Redis store on a real cluster, where requests in several slots are split. */
export async function clusterSubject(nodes: TestCluster['nodes']): Promise<RedisSubject> {
  const namespace = uniqueNamespace();
  const client = new Cluster([...nodes]);
  client.on('error', () => undefined);
  const placement = new HashTags({ namespace, hashTag: undefined });
  const redis = { cluster: nodes };
  const inRedis = await RedisStore.create(
    { redis, namespace, timeoutMs: 30_000, coalesce: true, placement },
    quiet,
  );
  const store = new SplitStore(inRedis, { groupOf: (check) => placement.tagOf(check) });
  const named = (key: string): string => `${namespace}:${key}`;
  const group = `${namespace}:`;
  const full = (key: string): string => placement.keyOf(check(named(key), { group }));
  return {
    client: client as unknown as Redis,
    namespace,
    store: prefixed(store, named, group),
    full,
    advance: async (ms) => {
      const keys = await keysOf(client, namespace);
      await Promise.all(keys.map((key) => client.eval(ADVANCE, 1, key, ms)));
    },
    timeLeft: async ({ key }) => {
      const left = await client.pttl(full(key));
      return left === -2 ? undefined : left;
    },
    sweep: () => sweep(client, namespace),
    clear: async () => {
      await Promise.all((await keysOf(client, namespace)).map((key) => client.del(key)));
    },
    stop: async () => {
      await store.close();
      await client.quit();
    },
  };
}

/** Puts the keys of the tests under a namespace. */
export function prefixed(store: Store, full: (key: string) => string, group?: string): Store {
  const moved = (checks: readonly Check[]): Check[] =>
    checks.map((check) => ({ ...check, key: full(check.key), group: group ?? check.group }));
  return {
    place: store.place,
    consume: (checks, ...more) => store.consume(moved(checks), ...more),
    peek: (checks) => store.peek(moved(checks)),
    settle: (checks, results, costs) => store.settle(moved(checks), results, costs),
    renew: (checks) => store.renew(moved(checks)),
    reset: (checks) => store.reset(moved(checks)),
    health: () => store.health(),
    open: () => store.open(),
    close: () => store.close(),
  };
}
