import { Redis } from 'ioredis';
import { keysOf, sweep } from '../support/redis.js';
import { type Answer, SHARED_LIMIT, STAND_IN, type Visit } from './load.js';

/** What the visits were answered, held against the counters that are there. */
export interface Books {
  readonly visits: number;
  readonly unanswered: number;
  /** Answered by neither the store nor what the policy says. */
  readonly astray: number;
  readonly longestMs: number;
  /** The same without what this process itself stood still. */
  readonly longestForStoreMs: number;
  /** Answered by the policy. */
  readonly refused: number;
  /** Answered by the policy, and charged all the same. */
  readonly late: readonly Visit[];
  /** Charged twice. */
  readonly doubled: number;
  /** Passed by the store, and not to be found. */
  readonly lost: number;
  /** Passed by one and the same answerer beyond a limit. */
  readonly overLimit: number;
  /** Shared counters that do not hold what the visits' own counters say: each visit charges both or none. */
  readonly unbalanced: number;
  /** Counters that never end, or are otherwise not as every counter must be. */
  readonly unsound: readonly string[];
}

export async function keepBooks(visits: readonly Visit[], port: number, namespace: string): Promise<Books> {
  const client = new Redis(port, '127.0.0.1');
  try {
    const counters = await countersOf(client, namespace);
    const own = (visit: Visit): number => counters.get(visit.ownKey) ?? 0;
    const refused = visits.filter(isRefused);
    return {
      visits: visits.length,
      unanswered: visits.filter(({ answer }) => answer === undefined).length,
      astray: visits.filter(isAstray).length,
      longestMs: longest(visits, ({ waitMs }) => waitMs),
      longestForStoreMs: longest(visits, ({ waitMs, stallMs }) => waitMs - stallMs),
      refused: refused.length,
      late: refused.filter((visit) => own(visit) > 0),
      doubled: visits.filter((visit) => own(visit) > 1).length,
      lost: visits.filter((visit) => isPassed(visit, 'store') && own(visit) === 0).length,
      overLimit: beyondLimits(visits, 'store') + beyondLimits(visits, 'memory'),
      unbalanced: unbalanced(visits, counters),
      unsound: await sweep(client, namespace),
    };
  } finally {
    client.disconnect();
  }
}

/** When the store answers again: seconds to the end of the first visit that it has answered after the last refused one. */
export function secondsToNormal(visits: readonly Visit[], fromMs: number): number {
  const lastMs = visits.filter(isRefused).reduce((last, { startMs }) => Math.max(last, startMs), fromMs);
  const first = visits.find(({ startMs, answer }) => startMs >= lastMs && answer?.by === 'store');
  return first === undefined ? Infinity : (first.startMs + first.answer!.waitMs - fromMs) / 1_000;
}

/** Whether a visit waited for its answer at some time between the two. */
export function isUnderWay({ startMs, answer }: Visit, fromMs: number, toMs: number): boolean {
  return startMs <= toMs && startMs + (answer?.waitMs ?? 0) >= fromMs;
}

function longest(visits: readonly Visit[], timeOf: (answer: Answer) => number): number {
  const times = visits.map(({ answer }) => (answer === undefined ? 0 : timeOf(answer)));
  return Math.ceil(times.reduce((most, ms) => Math.max(most, ms), 0));
}

async function countersOf(client: Redis, namespace: string): Promise<Map<string, number>> {
  const keys = await keysOf(client, namespace);
  const counters = new Map<string, number>();
  for (let at = 0; at < keys.length; at += 1_000) {
    const page = keys.slice(at, at + 1_000);
    const values = await client.mget(page);
    page.forEach((key, i) => counters.set(key, Number(values[i])));
  }
  return counters;
}

function isRefused({ answer }: Visit): boolean {
  return answer !== undefined && answer.by !== 'store';
}

function isAstray({ policy, answer }: Visit): boolean {
  return answer !== undefined && answer.by !== 'store' && answer.by !== STAND_IN[policy];
}

function isPassed({ answer }: Visit, by: 'store' | 'memory'): boolean {
  return answer?.by === by && answer.passes;
}

function beyondLimits(visits: readonly Visit[], by: 'store' | 'memory'): number {
  const passed = tally(visits.filter((visit) => isPassed(visit, by)));
  return [...passed.values()].reduce((sum, count) => sum + Math.max(0, count - SHARED_LIMIT), 0);
}

function unbalanced(visits: readonly Visit[], counters: ReadonlyMap<string, number>): number {
  const charged = tally(visits.filter(({ ownKey }) => counters.has(ownKey)));
  const shared = new Set(visits.map(({ sharedKey }) => sharedKey));
  return [...shared].filter((key) => (charged.get(key) ?? 0) !== (counters.get(key) ?? 0)).length;
}

/** How many of the visits go to each shared counter. */
function tally(visits: readonly Visit[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { sharedKey } of visits) counts.set(sharedKey, (counts.get(sharedKey) ?? 0) + 1);
  return counts;
}
