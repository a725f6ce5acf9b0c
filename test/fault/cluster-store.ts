import type { Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import { Log } from '../../src/core/log.js';
import type { Check } from '../../src/core/check.js';
import { createStore, type StoreOptions } from '../../src/store/create-store.js';
import { HashTags } from '../../src/store/redis/hash-tags.js';
import type { RedisOption } from 'nestjs-freq-limit';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { watchCommands } from '../support/monitor.js';
import { uniqueNamespace } from '../support/redis.js';
import type { Server } from '../support/server.js';
import { type LoadKind, storedIn } from './kinds.js';
import { STORE_OPTIONS, TIMEOUT_MS } from './options.js';

/** The longest time that a request may wait. */
export const BOUND_MS = TIMEOUT_MS + 50;
const HOUR_MS = 3_600_000;

/** A store on a cluster, as an application has it, and its log. */
export interface ClusterStore {
  readonly store: Store;
  readonly namespace: string;
  readonly lines: readonly string[];
  /** A check of a rule for one subject. */
  on(rule: string, subject: string, parts?: Partial<Check>): Check;
  /** A check of a rule of some kind, of which `units` pass. */
  ofKind(kind: LoadKind, rule: string, subject: string, units: number, parts?: Partial<Check>): Check;
  /** The key of a check on the servers. */
  keyOf(check: Check): string;
  slotOf(check: Check): number;
}

type Overrides = Partial<Omit<StoreOptions, 'redis' | 'namespace'>>;

export async function openStore(redis: RedisOption, overrides: Overrides = {}): Promise<ClusterStore> {
  const namespace = uniqueNamespace();
  const lines: string[] = [];
  const log = new Log({
    log: (line) => void lines.push(line),
    warn: (line) => void lines.push(line),
    error: (line) => void lines.push(line),
  });
  const options = { ...STORE_OPTIONS, ...overrides, redis, namespace };
  const store = await createStore(options, log);
  await store.open();
  const placement = new HashTags({ namespace, hashTag: options.hashTag });
  const keyOf = (one: Check): string => placement.keyOf(one);
  const checkOf = (rule: string, subject: string, window: string, parts: Partial<Check>): Check => {
    const group = `${namespace}:${rule}:${window}:`;
    return check(`${group}${subject}`, { name: rule, ...parts, group });
  };
  return {
    store,
    namespace,
    lines,
    on: (rule, subject, { windowMs = HOUR_MS, ...parts } = {}) =>
      checkOf(rule, subject, String(windowMs), { ...parts, windowMs }),
    ofKind: (kind, rule, subject, units, parts) =>
      checkOf(rule, subject, kind.window, { ...kind.parts(units), ...parts }),
    keyOf,
    slotOf: (one) => calculateSlot(keyOf(one)),
  };
}

/** A counter on a server, or the number of times that one was blocked. */
export interface Counter {
  readonly key: string;
  readonly used: number;
  readonly isBlocked: boolean;
  /** Milliseconds; -1: it never expires. */
  readonly leftMs: number;
}

/** All counters on these servers whose key has this prefix. */
export async function countersOn(servers: readonly Redis[], head: string): Promise<Counter[]> {
  const each = await Promise.all(servers.map((server) => countersOnOne(server, head)));
  return each.flat();
}

async function countersOnOne(server: Redis, head: string): Promise<Counter[]> {
  const counters: Counter[] = [];
  for await (const page of server.scanStream({ match: `${head}*`, count: 1_000 })) {
    const keys = [...new Set(page as string[])];
    if (keys.length === 0) continue;
    const commands = keys.flatMap((key) => [
      ['getBuffer', key],
      ['pttl', key],
    ]);
    const replies = (await server.pipeline(commands).exec()) ?? [];
    keys.forEach((key, i) => {
      const [value, leftMs] = [replies[2 * i]?.[1], Number(replies[2 * i + 1]?.[1])];
      // it may expire between the two commands
      if (!Buffer.isBuffer(value) || leftMs === -2) return;
      const stored = storedIn(value);
      const isBlocked = stored === 'blocked';
      counters.push({ key, used: isBlocked ? 0 : stored, isBlocked, leftMs });
    });
  }
  return [...new Map(counters.map((counter) => [counter.key, counter])).values()];
}

/** Runs a function, and returns the script calls that a server got in the meantime, as arrays of words. */
export async function callsDuring(server: Redis, run: () => Promise<unknown>): Promise<string[][]> {
  const calls: string[][] = [];
  let hasEnded: (() => void) | undefined;
  const end = `end-${Math.random()}`;
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  const { host, port } = server.options;
  const stop = await watchCommands(`redis://${host}:${port}`, ({ args, isFromScript }) => {
    if (args[1] === end) hasEnded?.();
    if (!isFromScript && args[0]?.toLowerCase() === 'evalsha') calls.push(args);
  });
  await run();
  await server.echo(end);
  await ended;
  stop();
  return calls;
}

/** Stops a process without ending it. */
export function freeze({ process }: Server): void {
  process.kill('SIGSTOP');
}

export function thaw({ process }: Server): void {
  process.kill('SIGCONT');
}

export function kill({ process }: Server): void {
  process.kill('SIGKILL');
}
