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

/** The faults of the counters in a namespace: without an expiry, with one that is too late, or not a counter. */
export async function sweep(client: Redis | Cluster, namespace: string): Promise<string[]> {
  const faults: string[] = [];
  for (const key of await keysOf(client, namespace)) {
    const [left, value] = await Promise.all([client.pttl(key), client.getBuffer(key)]);
    // it may expire between the two commands
    if (left === -2 || value === null) continue;
    if (left < 0) faults.push(`${key} never expires`);
    else faults.push(...faultsOf(key, left, value));
  }
  return faults;
}

/** A block is 4 and the time of its end, in 18 digits. */
const BLOCK = /^4\d{18}$/;
/** The sizes of the states of other kinds, by what follows the length of the window in keys. */
const STATE_SIZES: Readonly<Record<string, number>> = { s: 152, b: 24 };

function faultsOf(key: string, left: number, value: Buffer): string[] {
  const text = value.toString('latin1');
  if (BLOCK.test(text) || key.endsWith('!offences')) return [];
  const [, window, kind = ''] = /~[\w-]{10}:(\d*)([^:]*):/.exec(key) ?? [];
  const size = kind.includes('@') ? 16 : STATE_SIZES[kind];
  if (size !== undefined) return value.length === size ? [] : [`${key} has ${value.length} bytes`];
  const windowMs = Number(window);
  const faults: string[] = [];
  // beyond 2^52 the client reads integers inexactly
  if (left > windowMs && left < 2 ** 52) faults.push(`${key} expires in ${left} ms, more than its window`);
  if (!Number.isInteger(Number(text)) || Number(text) < 1) faults.push(`${key} is ${text}`);
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
