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

/** The keys of a namespace that do not hold what their counters store, or not with an expiry within their window. */
export async function sweep(client: Redis | Cluster, namespace: string): Promise<string[]> {
  const faults: string[] = [];
  for (const key of await keysOf(client, namespace)) {
    if ((await client.type(key)) === 'zset') {
      const left = await client.pttl(key);
      if (left < 0 && left !== -2) faults.push(`${key} never expires`);
      if (left > LIFE_MS || !key.includes(':leases:'))
        faults.push(`${key} expires in ${left} ms, or has no leases`);
      continue;
    }
    const [left, value] = await Promise.all([client.pttl(key), client.getBuffer(key)]);
    // it may expire between the two commands
    if (left === -2 || value === null) continue;
    faults.push(...faultsOf(value, left, key).map((fault) => `${key} ${fault}`));
  }
  return faults;
}

/** The life of a lease. */
const LIFE_MS = 15_000;
/** The window in a key: its length and the kind, or a calendar. */
const WINDOW = /:(?:(\d+)([sb]?)|[a-z]+[^:@]*@[^:]+):/;
/** A block: 4, and its end in milliseconds since 1970. */
const BLOCK = /^4(\d{18})$/;
const CLOCK_ERROR_MS = 2_000;

/** The faults of a counter, given what its key says about it. */
function faultsOf(value: Buffer, leftMs: number, key: string): string[] {
  const text = value.toString('latin1');
  const { bytes, mostMs } = formOf(key, text);
  const isState = bytes === undefined ? /^\d+$/.test(text) && Number(text) >= 1 : value.length === bytes;
  const faults: string[] = [];
  if (leftMs < 0) faults.push('never expires');
  // beyond 2^52 the client reads integers inexactly
  if (leftMs > mostMs && leftMs < 2 ** 52) faults.push(`expires in ${leftMs} ms, more than its window`);
  if (!isState) faults.push(`is ${text}`);
  return faults;
}

/** The size of what a key contains, if that is not a number, and the longest time that it may have left. */
function formOf(key: string, text: string): { readonly bytes?: number; readonly mostMs: number } {
  if (key.endsWith('!offences')) return { mostMs: Infinity };
  const blockEnds = BLOCK.exec(text)?.[1];
  if (blockEnds !== undefined) return { mostMs: Number(blockEnds) - Date.now() + CLOCK_ERROR_MS };
  const window = WINDOW.exec(key);
  if (window === null) return { mostMs: Infinity };
  const [, length, letter] = window;
  if (length === undefined) return { bytes: 16, mostMs: Infinity };
  if (letter === 's') return { bytes: 152, mostMs: Math.ceil((Number(length) / 16) * 17) };
  return letter === 'b' ? { bytes: 24, mostMs: Infinity } : { mostMs: Number(length) };
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
