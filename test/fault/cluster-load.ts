import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult } from '../../src/core/check.js';
import type { ClusterStore, Counter } from './cluster-store.js';
import { StallClock } from './stall-clock.js';

export const IN_FLIGHT = 30;
/** Keeps some thousands of visits a second, so that a slot can be moved faster than it fills. */
const PAUSE_MS = 4;

/** One visit under load: a counter of its own, which is twice charged only if the visit was, and one that many share. */
export interface Visit {
  readonly fromMs: number;
  readonly waitMs: number;
  /** The part of the wait in which this process itself stood still. */
  readonly stallMs: number;
  /** Nothing where the visit was refused as a whole. */
  readonly results: readonly CheckResult[];
  readonly checks: readonly Check[];
}

export interface Load {
  /** When it began. */
  readonly sinceMs: number;
  /** All visits so far. */
  readonly visits: readonly Visit[];
  /** Ends when all visits in flight are answered. */
  stop(): Promise<readonly Visit[]>;
}

/** Some thirty visits in flight until it is stopped. */
export function startLoad(shop: ClusterStore, sharedOf: (own: Check) => Check): Load {
  const visits: Visit[] = [];
  const sinceMs = performance.now();
  const stalls = new StallClock();
  let goesOn = true;
  const visitAll = async (worker: number): Promise<void> => {
    for (let i = 0; goesOn; i++) {
      const own = shop.on('own', `${worker}-${i}`, { limit: 10 });
      visits.push(await visit(shop, [own, sharedOf(own)], stalls));
      await sleep(PAUSE_MS);
    }
  };
  const all = Array.from({ length: IN_FLIGHT }, (_, worker) => visitAll(worker));
  return {
    sinceMs,
    visits,
    stop: async () => {
      goesOn = false;
      await Promise.all(all);
      stalls.stop();
      return visits;
    },
  };
}

/** So many visits, some thirty of them in flight. */
export async function visitMany(
  shop: ClusterStore,
  count: number,
  checksOf: (i: number) => readonly Check[],
): Promise<readonly Visit[]> {
  const visits: Visit[] = [];
  const stalls = new StallClock();
  let next = 0;
  const visitAll = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) visits.push(await visit(shop, checksOf(i), stalls));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, visitAll));
  stalls.stop();
  return visits;
}

async function visit({ store }: ClusterStore, checks: readonly Check[], stalls: StallClock): Promise<Visit> {
  const fromMs = performance.now();
  const before = stalls.totalMs();
  const results = await Promise.resolve(store.consume(checks)).catch((): CheckResult[] => []);
  const waitMs = performance.now() - fromMs;
  return { checks, fromMs, waitMs, stallMs: stalls.totalMs() - before, results };
}

/** Whether the store answered all of a visit. */
export function isExact({ results }: Visit): boolean {
  return results.length > 0 && results.every(({ source }) => source === 'store');
}

/** What became of the visits, once everything has come to rest. */
export interface Books {
  readonly visits: number;
  readonly longestMs: number;
  /** The same without what this process itself stood still. */
  readonly longestForStoreMs: number;
  /** Not answered by the store, or not wholly. */
  readonly refused: number;
  /** Answered without the store, and charged there all the same. */
  readonly late: number;
  readonly doubled: number;
  /** Answered by the store, and its charge is gone. */
  readonly lost: number;
  readonly withoutEnd: number;
  /** Numbers of shared counters that were handed out more than once. */
  readonly handedOutTwice: number;
  /** From the first moment given to the last answer that was not the store's. */
  refusedForMs(sinceMs: number): number;
}

export function booksOf(visits: readonly Visit[], counters: readonly Counter[]): Books {
  const charged = new Map(counters.map(({ key, used }) => [ownIn(key), used]));
  const fates = visits.map(({ checks, results }) => ({
    isStored: results[0]?.source === 'store',
    used: charged.get(ownIn(checks[0]?.key ?? '')) ?? 0,
  }));
  const refused = visits.filter((one) => !isExact(one));
  return {
    visits: visits.length,
    longestMs: longest(visits.map(({ waitMs }) => waitMs)),
    longestForStoreMs: longest(visits.map(({ waitMs, stallMs }) => waitMs - stallMs)),
    refused: refused.length,
    late: fates.filter(({ isStored, used }) => !isStored && used > 0).length,
    doubled: fates.filter(({ used }) => used > 1).length,
    lost: fates.filter(({ isStored, used }) => isStored && used === 0).length,
    withoutEnd: counters.filter(({ leftMs }) => leftMs < 0).length,
    handedOutTwice: handedOutTwice(visits),
    refusedForMs: (sinceMs) => longest(refused.map(({ fromMs, waitMs }) => fromMs + waitMs - sinceMs)),
  };
}

function longest(timesMs: readonly number[]): number {
  return timesMs.reduce((a, b) => Math.max(a, b), 0);
}

/** The subject of a visit's own counter, which its key ends with. */
function ownIn(key: string): string | undefined {
  return /:own:\d+:(.*)$/.exec(key)?.[1];
}

function handedOutTwice(visits: readonly Visit[]): number {
  const passed = visits.flatMap(({ checks, results }) => {
    const [shared, result] = [checks[1], results[1]];
    return shared !== undefined && result?.source === 'store' && result.allowed
      ? [`${shared.key} ${result.used}`]
      : [];
  });
  return passed.length - new Set(passed).size;
}
