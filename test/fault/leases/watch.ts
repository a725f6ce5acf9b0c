import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { storedIn } from '../kinds.js';
import type { Counter } from './costs.js';
import { nowMs } from './reports.js';

const PACE_MS = 50;
/** What all counters of leases have in their keys. */
const LEASES = ':leases:';

// The leases that count now, and the time that the key has left.
const LOOK = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = {}
for i, key in ipairs(KEYS) do
  reply[i] = { redis.call('PTTL', key), redis.call('ZRANGEBYSCORE', key, now, '+inf') }
end
return reply`;

/** The leases of a counter in Redis at one time. */
export interface Sample {
  /** When the server was read: not before and not after. */
  readonly sentAtMs: number;
  readonly atMs: number;
  /** The name of the check, and what it counts by. */
  readonly counter: string;
  readonly leases: readonly string[];
  /** -2: it does not exist; -1: it never expires. */
  readonly leftMs: number;
}

/** Reads the counters of leases in a server again and again, also while processes are killed. */
export class Watch {
  readonly samples: Sample[] = [];
  private readonly client: Redis;
  private isStopped = false;
  private readonly watching: Promise<void>;

  constructor(
    port: number,
    private readonly namespace: string,
  ) {
    this.client = new Redis(port, '127.0.0.1', { retryStrategy: () => PACE_MS, commandTimeout: 5_000 });
    this.client.on('error', () => undefined);
    this.watching = this.watch();
  }

  /** All counters of costs, by the name of the check and what it counts by. */
  async counters(): Promise<Map<string, Counter>> {
    const keys = (await this.keys()).filter((key) => !key.includes(LEASES));
    const counters = new Map<string, Counter>();
    for (let at = 0; at < keys.length; at += 1_000) {
      const page = keys.slice(at, at + 1_000);
      const values = await this.client.mgetBuffer(page);
      page.forEach((key, i) => counters.set(this.nameOf(key), { key, units: storedIn(values[i]!) }));
    }
    return counters;
  }

  /** The keys that have no expiry. */
  async immortal(): Promise<string[]> {
    const keys = await this.keys();
    const replies = (await this.client.pipeline(keys.map((key) => ['pttl', key])).exec()) ?? [];
    return keys.filter((_, i) => replies[i]?.[1] === -1);
  }

  /** The keys of leases that exist. */
  async leaseKeys(): Promise<string[]> {
    return (await this.keys()).filter((key) => key.includes(LEASES));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.watching;
    this.client.disconnect();
  }

  private async watch(): Promise<void> {
    const known = new Set<string>();
    for (let turn = 0; !this.isStopped; turn++) {
      try {
        if (turn % 20 === 0) for (const key of await this.leaseKeys()) known.add(key);
        if (known.size > 0) await this.look([...known]);
      } catch {
        // the server is away
      }
      await sleep(PACE_MS);
    }
  }

  private async look(keys: readonly string[]): Promise<void> {
    const sentAtMs = nowMs();
    const reply = (await this.client.eval(LOOK, keys.length, ...keys)) as [number, string[]][];
    const atMs = nowMs();
    reply.forEach(([leftMs, leases], i) => {
      this.samples.push({ sentAtMs, atMs, counter: this.nameOf(keys[i]!), leases, leftMs });
    });
  }

  private async keys(): Promise<string[]> {
    const keys = new Set<string>();
    for await (const page of this.client.scanStream({ match: `${this.namespace}:*`, count: 1_000 }))
      for (const key of page as string[]) keys.add(key);
    return [...keys];
  }

  /** `strict:user-1` of the key `namespace:service.strict~0123456789:leases:user-1`. */
  private nameOf(key: string): string {
    const [label = '', ...rest] = key.slice(this.namespace.length + 1).split(':');
    return `${label.replace(/^service\./, '').replace(/~.*$/, '')}:${rest.at(-1)}`;
  }
}
