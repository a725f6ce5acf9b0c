import { randomUUID } from 'node:crypto';
import { Cluster, Redis } from 'ioredis';

/** The URL of the Redis of the tests. */
export function redisUrl(): string {
  const url = process.env['TEST_REDIS_URL'];
  if (url === undefined) throw new Error('the global set-up has not run');
  return url;
}

/** A namespace that no other test uses: suites share one server. */
export function uniqueNamespace(): string {
  return `t-${randomUUID().slice(0, 13)}`;
}

/** A plain client, to inspect the keys of the library. */
export function plainClient(url = redisUrl()): Redis {
  return new Redis(url);
}

export async function keysOf(client: Redis | Cluster, namespace: string): Promise<string[]> {
  const keys = new Set<string>();
  const servers = client instanceof Cluster ? client.nodes('master') : [client];
  for (const server of servers) {
    for await (const page of server.scanStream({ match: `${namespace}:*`, count: 1000 }))
      for (const key of page as string[]) keys.add(key);
  }
  return [...keys];
}

/** The counts in a namespace. */
export async function countsOf(client: Redis, namespace: string): Promise<number[]> {
  const keys = await keysOf(client, namespace);
  return Promise.all(keys.map(async (key) => Number(await client.get(key))));
}

/** The counters of a namespace that are not an integer above 0 with an expiry of at most their window. */
export async function sweep(client: Redis | Cluster, namespace: string): Promise<string[]> {
  const faults: string[] = [];
  for (const key of await keysOf(client, namespace)) {
    const [left, value] = await Promise.all([client.pttl(key), client.get(key)]);
    // it may expire between the two commands
    if (left === -2 || value === null) continue;
    const windowMs = Number(/:(\d+):/.exec(key)?.[1]);
    if (left < 0) faults.push(`${key} never expires`);
    // beyond 2^52 the client reads integers inexactly
    if (left > windowMs && left < 2 ** 52) faults.push(`${key} expires in ${left} ms, more than its window`);
    if (!Number.isInteger(Number(value)) || Number(value) < 1) faults.push(`${key} is ${value}`);
  }
  return faults;
}

/** The client that a store has created. */
export function clientOf(store: object): Redis {
  const { parts, store: inner } = store as {
    parts?: { connection: { client: Redis } };
    store?: object;
  };
  if (parts !== undefined) return parts.connection.client;
  if (inner === undefined) throw new Error('this store has no client');
  return clientOf(inner);
}
