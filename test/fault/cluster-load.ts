import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult } from '../../src/core/check.js';
import type { ClusterStore, Counter } from './cluster-store.js';
import { mixedKind } from './kinds.js';
import { StallClock } from './stall-clock.js';

export const IN_FLIGHT = 30;
/** Limits the load to some thousands of requests a second, so that moving a slot is faster than filling it. */
const PAUSE_MS = 4;

/** One request under load. Its own counter shows whether it was charged twice; the other counter is shared. */
export interface SentRequest {
  readonly fromMs: number;
  readonly waitMs: number;
  /** The part of the wait in which this process itself was blocked. */
  readonly stallMs: number;
  /** Empty if the request was answered with 503. */
  readonly results: readonly CheckResult[];
  readonly checks: readonly Check[];
}

export interface Load {
  /** When it was sent. */
  readonly sinceMs: number;
  /** All requests so far. */
  readonly requests: readonly SentRequest[];
  /** Resolves when all requests in flight are answered. */
  stop(): Promise<readonly SentRequest[]>;
}

/** Keeps some thirty requests in flight until it is stopped. */
export function startLoad(shop: ClusterStore, sharedOf: (own: Check) => Check): Load {
  const requests: SentRequest[] = [];
  const sinceMs = performance.now();
  const stalls = new StallClock();
  let goesOn = true;
  const sendAll = async (worker: number): Promise<void> => {
    for (let i = 0; goesOn; i++) {
      const own = shop.ofKind(mixedKind(i), 'own', `${worker}-${i}`, 10);
      requests.push(await send(shop, [own, sharedOf(own)], stalls));
      await sleep(PAUSE_MS);
    }
  };
  const all = Array.from({ length: IN_FLIGHT }, (_, worker) => sendAll(worker));
  return {
    sinceMs,
    requests,
    stop: async () => {
      goesOn = false;
      await Promise.all(all);
      stalls.stop();
      return requests;
    },
  };
}

/** Sends `count` requests, some thirty of them in flight. */
export async function sendMany(
  shop: ClusterStore,
  count: number,
  checksOf: (i: number) => readonly Check[],
): Promise<readonly SentRequest[]> {
  const requests: SentRequest[] = [];
  const stalls = new StallClock();
  let next = 0;
  const sendAll = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) requests.push(await send(shop, checksOf(i), stalls));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sendAll));
  stalls.stop();
  return requests;
}

async function send(
  { store }: ClusterStore,
  checks: readonly Check[],
  stalls: StallClock,
): Promise<SentRequest> {
  const fromMs = performance.now();
  const before = stalls.totalMs();
  const results = await Promise.resolve(store.consume(checks)).catch((): CheckResult[] => []);
  const waitMs = performance.now() - fromMs;
  return { checks, fromMs, waitMs, stallMs: stalls.totalMs() - before, results };
}

/** Whether the store answered all checks of a request. */
export function isExact({ results }: SentRequest): boolean {
  return results.length > 0 && results.every(({ source }) => source === 'store');
}

/** The outcome of the requests, after everything has settled. */
export interface Books {
  readonly requests: number;
  readonly longestMs: number;
  /** The same without the time in which this process itself was blocked. */
  readonly longestForStoreMs: number;
  /** Not answered by the store, or only in part. */
  readonly withoutStore: number;
  /** Answered without the store, but charged there. */
  readonly late: number;
  readonly doubled: number;
  /** Answered by the store, but without a counter. */
  readonly lost: number;
  readonly withoutEnd: number;
  /** Counts of shared counters that were returned more than once. */
  readonly handedOutTwice: number;
  /** The time from `sinceMs` to the last answer that was not the store's. */
  withoutStoreForMs(sinceMs: number): number;
}

export function booksOf(requests: readonly SentRequest[], counters: readonly Counter[]): Books {
  const charged = new Map(counters.map(({ key, used }) => [ownIn(key), used]));
  const fates = requests.map(({ checks, results }) => ({
    isStored: results[0]?.source === 'store',
    used: charged.get(ownIn(checks[0]?.key ?? '')) ?? 0,
  }));
  const withoutStore = requests.filter((one) => !isExact(one));
  return {
    requests: requests.length,
    longestMs: longest(requests.map(({ waitMs }) => waitMs)),
    longestForStoreMs: longest(requests.map(({ waitMs, stallMs }) => waitMs - stallMs)),
    withoutStore: withoutStore.length,
    late: fates.filter(({ isStored, used }) => !isStored && used > 0).length,
    doubled: fates.filter(({ used }) => used > 1).length,
    lost: fates.filter(({ isStored, used }) => isStored && used === 0).length,
    withoutEnd: counters.filter(({ leftMs }) => leftMs < 0).length,
    handedOutTwice: handedOutTwice(requests),
    withoutStoreForMs: (sinceMs) =>
      longest(withoutStore.map(({ fromMs, waitMs }) => fromMs + waitMs - sinceMs)),
  };
}

function longest(timesMs: readonly number[]): number {
  return timesMs.reduce((a, b) => Math.max(a, b), 0);
}

/** The subject of a request's own counter, at the end of its key. */
function ownIn(key: string): string | undefined {
  return /:own:[^:]+:(.*)$/.exec(key)?.[1];
}

function handedOutTwice(requests: readonly SentRequest[]): number {
  const passed = requests.flatMap(({ checks, results }) => {
    const [shared, result] = [checks[1], results[1]];
    return shared !== undefined && result?.source === 'store' && result.allowed
      ? [`${shared.key} ${result.used}`]
      : [];
  });
  return passed.length - new Set(passed).size;
}
