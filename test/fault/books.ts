import { Redis } from 'ioredis';
import { keysOf, sweep } from '../support/redis.js';
import { OFFENCES, type Stored, storedIn } from './kinds.js';
import { type Answer, SHARED_LIMIT, STAND_IN, type SentRequest } from './load.js';

/** The answers of the requests, compared with the counters in Redis. */
export interface Books {
  readonly requests: number;
  readonly unanswered: number;
  /** Answered neither by the store nor by their policy. */
  readonly againstPolicy: number;
  readonly longestMs: number;
  /** The same without the time in which this process itself was blocked. */
  readonly longestForStoreMs: number;
  /** Answered by the policy. */
  readonly withoutStore: number;
  /** Why, as far as the policy says it. */
  readonly reasons: readonly string[];
  /** Answered by the policy, but charged. */
  readonly late: readonly SentRequest[];
  /** Charged twice. */
  readonly doubled: number;
  /** Allowed by the store, but without a counter. */
  readonly lost: number;
  /** Allowed by the same source beyond a limit. */
  readonly overLimit: number;
  /**
   * Shared counters that differ from the sum of the requests' own counters: each request charges both or none. A block begins
   * at the limit.
   */
  readonly unbalanced: number;
  /** Counters without an expiry, or with another fault. */
  readonly unsound: readonly string[];
}

export async function keepBooks(
  requests: readonly SentRequest[],
  port: number,
  namespace: string,
): Promise<Books> {
  const client = new Redis(port, '127.0.0.1');
  try {
    const counters = await countersOf(client, namespace);
    const own = (request: SentRequest): number => unitsOf(counters.get(request.ownKey));
    const withoutStore = requests.filter(isWithoutStore);
    return {
      requests: requests.length,
      unanswered: requests.filter(({ answer }) => answer === undefined).length,
      againstPolicy: requests.filter(isAgainstPolicy).length,
      longestMs: longest(requests, ({ waitMs }) => waitMs),
      longestForStoreMs: longest(requests, ({ waitMs, stallMs }) => waitMs - stallMs),
      withoutStore: withoutStore.length,
      reasons: reasonsOf(withoutStore),
      late: withoutStore.filter((request) => own(request) > 0),
      doubled: requests.filter((request) => own(request) > 1).length,
      lost: requests.filter((request) => isPassed(request, 'store') && own(request) === 0).length,
      overLimit: beyondLimits(requests, 'store') + beyondLimits(requests, 'memory'),
      unbalanced: unbalanced(requests, counters),
      unsound: await sweep(client, namespace),
    };
  } finally {
    client.disconnect();
  }
}

/** Seconds until the store answers again, which is its first answer after the last request without it. */
export function secondsToNormal(requests: readonly SentRequest[], fromMs: number): number {
  const lastMs = requests
    .filter(isWithoutStore)
    .reduce((last, { startMs }) => Math.max(last, startMs), fromMs);
  const first = requests.find(({ startMs, answer }) => startMs >= lastMs && answer?.by === 'store');
  return first === undefined ? Infinity : (first.startMs + first.answer!.waitMs - fromMs) / 1_000;
}

/** Whether a request was in flight at some time between the two. */
export function isInFlight({ startMs, answer }: SentRequest, fromMs: number, toMs: number): boolean {
  return startMs <= toMs && startMs + (answer?.waitMs ?? 0) >= fromMs;
}

function longest(requests: readonly SentRequest[], timeOf: (answer: Answer) => number): number {
  const times = requests.map(({ answer }) => (answer === undefined ? 0 : timeOf(answer)));
  return Math.ceil(times.reduce((most, ms) => Math.max(most, ms), 0));
}

async function countersOf(client: Redis, namespace: string): Promise<Map<string, Stored>> {
  const all = await keysOf(client, namespace);
  const keys = all.filter((key) => !key.endsWith(OFFENCES));
  const counters = new Map<string, Stored>();
  for (let at = 0; at < keys.length; at += 1_000) {
    const page = keys.slice(at, at + 1_000);
    const values = await client.mgetBuffer(page);
    page.forEach((key, i) => counters.set(key, storedIn(values[i]!)));
  }
  return counters;
}

function unitsOf(stored: Stored = 0): number {
  return stored === 'blocked' ? SHARED_LIMIT : stored;
}

function isWithoutStore({ answer }: SentRequest): boolean {
  return answer !== undefined && answer.by !== 'store';
}

/** Of requests with the policy `'deny'`; the other policies answer without an error. */
function reasonsOf(requests: readonly SentRequest[]): string[] {
  const errors = requests.flatMap(({ answer }) => (answer?.by === 'unavailable' ? [answer.error] : []));
  return [...new Set(errors.map((error) => (error as Error).message))];
}

function isAgainstPolicy({ policy, answer }: SentRequest): boolean {
  return answer !== undefined && answer.by !== 'store' && answer.by !== STAND_IN[policy];
}

function isPassed({ answer }: SentRequest, by: 'store' | 'memory'): boolean {
  return answer?.by === by && answer.passes;
}

function beyondLimits(requests: readonly SentRequest[], by: 'store' | 'memory'): number {
  const passed = tally(requests.filter((request) => isPassed(request, by)));
  return [...passed.values()].reduce((sum, count) => sum + Math.max(0, count - SHARED_LIMIT), 0);
}

function unbalanced(requests: readonly SentRequest[], counters: ReadonlyMap<string, Stored>): number {
  const charged = tally(requests.filter(({ ownKey }) => counters.has(ownKey)));
  const shared = new Set(requests.map(({ sharedKey }) => sharedKey));
  return [...shared].filter((key) => (charged.get(key) ?? 0) !== unitsOf(counters.get(key))).length;
}

/** The number of requests of each shared counter. */
function tally(requests: readonly SentRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { sharedKey } of requests) counts.set(sharedKey, (counts.get(sharedKey) ?? 0) + 1);
  return counts;
}
