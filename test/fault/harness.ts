import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueNamespace } from '../support/redis.js';
import { type Books, isInFlight, keepBooks, secondsToNormal } from './books.js';
import type { Expected, Fault } from './faults.js';
import { type Load, MOST_IN_FLIGHT, RecordingLog, startLoad, storeFor } from './load.js';
import { TIMEOUT_MS } from './options.js';
import type { Scene } from './scene.js';

const CALM_MS = 400;
const LONGEST_RETURN_MS = 6_000;
/** Added to the time limit of a request, for its answer to reach the client. */
export const SLACK_MS = 50;
const LONGEST_START_MS = 1_200;
const LONGEST_CLOSE_MS = 1_500;
/**
 * The requests in flight when a fault begins, and those that follow: after their time limit, and once more before the connection
 * is closed because it was silent for two time limits. One call may have the requests of all clients, so the breaker may still
 * be closed then.
 */
const MOST_LATE = 3 * MOST_IN_FLIGHT;

/** The outcome of a fault. */
export interface Row extends Books {
  readonly fault: string;
  readonly topology: string;
  readonly stallMs: number;
  /** Requests that were charged after their answer although they were not in flight during the fault. */
  readonly oddlyLate: number;
  readonly opened: number;
  readonly closed: number;
  readonly otherLines: readonly string[];
  readonly normalAfterS: number;
  readonly openMs: number;
  readonly closeMs: number;
}

/** Takes a store through a fault, and checks its counters afterwards. */
export async function runFault<S extends Scene>(fault: Fault<S>): Promise<Row> {
  const scene = await fault.start();
  try {
    return await runIn(scene, fault);
  } finally {
    await scene.stop();
  }
}

async function runIn<S extends Scene>(scene: S, fault: Fault<S>): Promise<Row> {
  const namespace = uniqueNamespace();
  const log = new RecordingLog();
  const startMs = performance.now();
  const redis = fault.reach?.(scene) ?? scene.redis;
  if (fault.comesFirst === true) await fault.make(scene);
  const store = await storeFor(redis, namespace, log);
  const opening = timed(() => store.open());
  if (fault.comesFirst !== true) await opening;
  const load = startLoad(store, namespace, fault.clientsEach);
  const times = await passThrough(scene, fault, load);
  const { stallMs } = await load.stop();
  const closeMs = await timed(() => store.close());
  const books = await keepBooks(load.requests, scene.port, namespace);
  const [fromMs, toMs] = fault.comesFirst === true ? [startMs, times.endMs] : [times.makeMs, times.endMs];
  return {
    ...books,
    ...linesOf(log),
    fault: fault.name,
    topology: fault.topology,
    stallMs,
    oddlyLate: books.late.filter((request) => !isInFlight(request, fromMs, toMs + TIMEOUT_MS)).length,
    normalAfterS: secondsToNormal(
      load.requests,
      fault.expected.from === 'making' ? times.makeMs : times.endMs,
    ),
    openMs: await opening,
    closeMs,
  };
}

async function passThrough<S extends Scene>(
  scene: S,
  fault: Fault<S>,
  load: Load,
): Promise<{ makeMs: number; endMs: number }> {
  if (fault.comesFirst !== true) await sleep(CALM_MS);
  const makeMs = performance.now();
  if (fault.comesFirst !== true) await fault.make(scene, load);
  await sleep(fault.lastsMs);
  await fault.end(scene);
  const endMs = performance.now();
  await calm(load);
  return { makeMs, endMs };
}

/** Waits until the store has answered every request for some time. */
export async function calm({ requests }: Load): Promise<void> {
  const giveUpMs = performance.now() + LONGEST_RETURN_MS;
  for (let calmSinceMs = performance.now(), at = requests.length; ;) {
    await sleep(20);
    const nowMs = performance.now();
    if (nowMs > giveUpMs) return;
    for (; requests[at]?.answer !== undefined; at++)
      if (requests[at]?.answer?.by !== 'store') calmSinceMs = nowMs;
    if (nowMs - calmSinceMs > 2 * CALM_MS) return;
  }
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await run();
  return Math.round(performance.now() - startMs);
}

function linesOf({ lines }: RecordingLog): Pick<Row, 'opened' | 'closed' | 'otherLines'> {
  const isOpening = (line: string): boolean =>
    /^FREQ_LIMIT_STORE_(UNAVAILABLE|REFUSED): Redis is unavailable/.test(line);
  const isClosing = (line: string): boolean =>
    line.startsWith('FREQ_LIMIT_STORE_RECOVERED: Redis is available again');
  return {
    opened: lines.filter(isOpening).length,
    closed: lines.filter(isClosing).length,
    otherLines: lines.filter((line) => !isOpening(line) && !isClosing(line)),
  };
}

/** The expectations that a row breaks. */
export function breaches(row: Row, expected: Expected): string[] {
  const { outages, otherLines = 0, withinS = Infinity, mayLose = false, neverLate = false } = expected;
  const mostMs = TIMEOUT_MS + SLACK_MS;
  const rules: readonly (readonly [boolean, string])[] = [
    [row.requests > 200, `${row.requests} requests are too few`],
    [row.unanswered === 0, `${row.unanswered} requests are not answered`],
    [row.againstPolicy === 0, `${row.againstPolicy} requests are not answered by their policy`],
    [row.longestForStoreMs <= mostMs, `a request waited ${row.longestForStoreMs} ms for the store`],
    [row.doubled === 0, `${row.doubled} requests are charged twice`],
    [row.unbalanced === 0, `${row.unbalanced} shared counters differ from the charges`],
    [row.unsound.length === 0, row.unsound.slice(0, 5).join(', ')],
    [
      row.late.length <= (neverLate ? 0 : MOST_LATE * Math.max(1, outages)),
      `${row.late.length} requests are charged late`,
    ],
    [row.oddlyLate === 0, `${row.oddlyLate} requests outside the fault are charged late`],
    [row.lost === 0 || mayLose, `${row.lost} requests are lost`],
    [row.overLimit === 0 || mayLose, `${row.overLimit} requests exceed a limit`],
    [
      expected.withoutStore === 'any' || row.withoutStore > 0 === (expected.withoutStore === 'some'),
      `${row.withoutStore} requests are answered without the store: ${row.reasons.join(' / ')}`,
    ],
    [
      row.opened === outages ||
        (expected.mayMoveTwice === true && row.opened === 2) ||
        (expected.withoutStore === 'any' && row.withoutStore === 0 && row.opened === 0),
      `it was given up ${row.opened} times`,
    ],
    [row.closed === row.opened, `it was found again ${row.closed} times`],
    [row.otherLines.length === otherLines, `other lines: ${row.otherLines.join(' / ')}`],
    [row.normalAfterS <= withinS + row.stallMs / 1_000, `normal after ${row.normalAfterS} s`],
    [row.openMs <= LONGEST_START_MS + row.stallMs, `the start took ${row.openMs} ms`],
    [row.closeMs <= LONGEST_CLOSE_MS, `the end took ${row.closeMs} ms`],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, breach]) => breach);
}
