import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckResult, OnStoreError } from '../../src/core/check.js';
import type { ClusterStore, Counter } from './cluster-store.js';

export const IN_FLIGHT = 30;
/** Keeps some thousands of visits a second, so that a slot can be moved faster than it fills. */
const PAUSE_MS = 4;

/** One visit under load: a counter of its own, which is twice charged only if the visit was, and one that many share. */
export interface Visit {
  readonly id: string;
  readonly fromMs: number;
  readonly waitMs: number;
  /** Nothing where the visit was refused as a whole. */
  readonly results: readonly CheckResult[];
  readonly checks: readonly Check[];
}

export interface Load {
  /** When it began. */
  readonly sinceMs: number;
  /** All visits so far. */
  readonly visits: readonly Visit[];
  /** Ends when all visits in flight are answered; the longest time that this process itself stood still. */
  stop(): Promise<{ readonly visits: readonly Visit[]; readonly stallMs: number }>;
}

/** Some thirty visits in flight until it is stopped. */
export function startLoad(clusterStore: ClusterStore, sharedOf: (own: Check) => Check): Load {
  const visits: Visit[] = [];
  const sinceMs = performance.now();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let goesOn = true;
  const visitAll = async (worker: number): Promise<void> => {
    for (let i = 0; goesOn; i++) {
      const id = `${worker}-${i}`;
      const own = clusterStore.on('own', id, { limit: 1 });
      visits.push(await visit(clusterStore, id, [own, sharedOf(own)]));
      await sleep(PAUSE_MS);
    }
  };
  delay.enable();
  const all = Array.from({ length: IN_FLIGHT }, (_, worker) => visitAll(worker));
  return {
    sinceMs,
    visits,
    stop: async () => {
      goesOn = false;
      await Promise.all(all);
      delay.disable();
      return { visits, stallMs: delay.max / 1e6 };
    },
  };
}

export async function visit({ store }: ClusterStore, id: string, checks: readonly Check[]): Promise<Visit> {
  const fromMs = performance.now();
  const results = await Promise.resolve(store.consume(checks)).catch((): CheckResult[] => []);
  return { id, checks, fromMs, waitMs: performance.now() - fromMs, results };
}

/** So many visits, some thirty of them in flight. */
export async function visitMany(
  clusterStore: ClusterStore,
  count: number,
  label: string,
  othersOf: (i: number) => readonly Check[],
  onStoreError: OnStoreError = 'memory',
): Promise<{ visits: Visit[]; stallMs: number }> {
  const visits: Visit[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      const id = `${label}-${i}`;
      const own = clusterStore.on('own', id, { limit: 1, onStoreError });
      visits.push(await visit(clusterStore, id, [own, ...othersOf(i)]));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  delay.disable();
  return { visits, stallMs: delay.max / 1e6 };
}

/** Whether the store answered all of a visit. */
export function isExact({ results }: Visit): boolean {
  return results.length > 0 && results.every(({ source }) => source === 'store');
}

/** What became of the visits, once everything has come to rest. */
export interface Books {
  readonly visits: number;
  readonly longestMs: number;
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
  const charged = new Map(counters.map(({ key, used }) => [/:own:\d+:(.*)$/.exec(key)?.[1], used]));
  const fates = visits.map(({ id, results }) => ({
    isStored: results[0]?.source === 'store',
    used: charged.get(id) ?? 0,
  }));
  const refused = visits.filter((one) => !isExact(one));
  return {
    visits: visits.length,
    longestMs: visits.reduce((longest, { waitMs }) => Math.max(longest, waitMs), 0),
    refused: refused.length,
    late: fates.filter(({ isStored, used }) => !isStored && used > 0).length,
    doubled: fates.filter(({ used }) => used > 1).length,
    lost: fates.filter(({ isStored, used }) => isStored && used === 0).length,
    withoutEnd: counters.filter(({ leftMs }) => leftMs < 0).length,
    handedOutTwice: handedOutTwice(visits),
    refusedForMs: (sinceMs) =>
      refused.reduce((latest, { fromMs, waitMs }) => Math.max(latest, fromMs + waitMs - sinceMs), 0),
  };
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
