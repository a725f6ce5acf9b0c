import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFreqLimitError } from '../../src/core/errors.js';
import { type OnStoreError } from '../../src/core/check.js';
import { toVerdict } from '../../src/core/verdict.js';
import { createStore } from '../../src/store/create-store.js';
import type { RedisOption } from 'nestjs-freq-limit';
import type { Store, StoreLog } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { STORE_OPTIONS } from './options.js';
import { StallClock } from './stall-clock.js';

/** Who answers in the place of the store; `refusal` is the 503 of `'deny'`. */
export const STAND_IN = { memory: 'memory', allow: 'allow', deny: 'refusal' } as const;
const POLICIES = Object.keys(STAND_IN) as OnStoreError[];
const CALLERS = 24;
/** How many visits may be under way at once. */
export const MOST_IN_FLIGHT = CALLERS * POLICIES.length;
const PACE_MS = 40;
const WINDOW_MS = 3_600_000;
/** So many visits in a row share a counter, and it lets pass fewer: before a fault, during it and after it. */
const SHARING = 400;
export const SHARED_LIMIT = 300;
/** More than a visit needs: at a limit of 1 a visit that comes twice would be denied, and nobody would see it. */
const OWN_LIMIT = 10;
const RESOLUTION_MS = 5;

type Answerer = 'store' | 'memory' | 'allow' | 'refusal' | 'none';

/** One visit: a check with a key of its own, and one that it shares with others. */
export interface Visit {
  readonly policy: OnStoreError;
  readonly ownKey: string;
  readonly sharedKey: string;
  readonly startMs: number;
  answer: Answer | undefined;
}

export interface Answer {
  readonly by: Answerer;
  readonly passes: boolean;
  readonly waitMs: number;
  /** The part of the wait in which this process itself stood still. */
  readonly stallMs: number;
  /** Where nobody has answered: what was thrown, which should not have been. */
  readonly error: unknown;
}

export interface Load {
  readonly visits: readonly Visit[];
  /** One more visit of each policy, in this very turn of the event loop. */
  visitNow(): void;
  /** How many visits wait for their answer. */
  inFlight(): number;
  /** Ends it when all visits are answered, or should have been long ago. */
  stop(): Promise<LoadEnd>;
}

interface LoadEnd {
  /** The longest time for which this process itself could not run. */
  readonly stallMs: number;
}

/** A log that keeps what it is told. */
export class RecordingLog implements StoreLog {
  readonly lines: string[] = [];

  warn(message: string): void {
    this.lines.push(message);
  }

  error(message: string): void {
    this.lines.push(message);
  }
}

export function storeFor(redis: RedisOption, namespace: string, log: StoreLog): Promise<Store> {
  return createStore({ ...STORE_OPTIONS, redis, namespace }, log);
}

/** Callers of all three policies, who visit at a steady pace until they are told to stop. */
export function startLoad(store: Store, namespace: string, callersEach = CALLERS): Load {
  const visits: Visit[] = [];
  const callers = { areStopped: false };
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const stalls = new StallClock();
  const numbers = new Map<OnStoreError, number>();
  const visit = async (policy: OnStoreError): Promise<number> => {
    const number = numbers.get(policy) ?? 0;
    numbers.set(policy, number + 1);
    const one = newVisit(namespace, policy, number);
    visits.push(one);
    const beforeMs = stalls.totalMs();
    const answer = await ask(store, one);
    one.answer = { ...answer, stallMs: stalls.totalMs() - beforeMs };
    return one.answer.waitMs;
  };
  const call = async (policy: OnStoreError): Promise<void> => {
    await sleep(Math.random() * PACE_MS);
    while (!callers.areStopped) {
      const waitMs = await visit(policy);
      await sleep(Math.max(0, PACE_MS * (0.5 + Math.random()) - waitMs));
    }
  };
  const calling = POLICIES.flatMap((policy) => Array.from({ length: callersEach }, () => call(policy)));
  return {
    visits,
    visitNow: () => {
      for (const policy of POLICIES) calling.push(visit(policy).then(() => undefined));
    },
    inFlight: () => visits.slice(-MOST_IN_FLIGHT * 2).filter(({ answer }) => answer === undefined).length,
    stop: async () => {
      callers.areStopped = true;
      const patience = new AbortController();
      await Promise.race([
        Promise.all(calling),
        sleep(3_000, undefined, { signal: patience.signal }).catch(() => undefined),
      ]);
      patience.abort();
      delays.disable();
      stalls.stop();
      return { stallMs: Math.max(0, Math.ceil(delays.max / 1e6) - RESOLUTION_MS) };
    },
  };
}

function newVisit(namespace: string, policy: OnStoreError, number: number): Visit {
  return {
    policy,
    ownKey: `${namespace}:own-${policy}:${WINDOW_MS}:${number}`,
    sharedKey: `${namespace}:shared-${policy}:${WINDOW_MS}:${Math.floor(number / SHARING)}`,
    startMs: performance.now(),
    answer: undefined,
  };
}

async function ask(
  store: Store,
  { policy, ownKey, sharedKey, startMs }: Visit,
): Promise<Omit<Answer, 'stallMs'>> {
  const parts = { windowMs: WINDOW_MS, onStoreError: policy };
  const waitMs = (): number => performance.now() - startMs;
  try {
    const results = await store.consume([
      check(ownKey, { ...parts, limit: OWN_LIMIT }),
      check(sharedKey, { ...parts, limit: SHARED_LIMIT }),
    ]);
    const { source, allowed } = toVerdict(results);
    return { by: source, passes: allowed, waitMs: waitMs(), error: undefined };
  } catch (error) {
    const isRefusal = isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED';
    return { by: isRefusal ? 'refusal' : 'none', passes: false, waitMs: waitMs(), error };
  }
}
