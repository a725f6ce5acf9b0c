import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFreqLimitError } from '../../src/core/errors.js';
import type { Check, OnStoreError } from '../../src/core/check.js';
import { toVerdict } from '../../src/core/verdict.js';
import { createStore } from '../../src/store/create-store.js';
import type { RedisOption } from 'nestjs-freq-limit';
import { Log } from '../../src/core/log.js';
import type { Store } from '../../src/core/store.js';
import { check } from '../support/check.js';
import { mixedKind, PLAIN } from './kinds.js';
import { STORE_OPTIONS } from './options.js';
import { StallClock } from './stall-clock.js';

/** The source of answers without the store; `unavailable` is the 503 of `'deny'`. */
export const STAND_IN = { memory: 'memory', allow: 'allow', deny: 'unavailable' } as const;
const POLICIES = Object.keys(STAND_IN) as OnStoreError[];
const CLIENTS = 24;
/** The most requests in flight at once. */
export const MOST_IN_FLIGHT = CLIENTS * POLICIES.length;
const PACE_MS = 40;
/** The number of requests in a row of a lane that share a counter. Its limit is lower, before, during and after a fault. */
const SHARING = 200;
export const SHARED_LIMIT = 150;
/** Every second request of a policy has fixed windows only, which another script counts. */
const LANES = ['plain', 'mixed'] as const;
/** More than a request needs: with a limit of 1 a second charge of a request would be denied and invisible. */
const OWN_LIMIT = 10;
const RESOLUTION_MS = 5;

type Answerer = 'store' | 'memory' | 'allow' | 'unavailable' | 'none';

/** One request: a check with its own key, and one with a shared key. */
export interface SentRequest {
  readonly policy: OnStoreError;
  readonly checks: readonly Check[];
  readonly ownKey: string;
  readonly sharedKey: string;
  readonly startMs: number;
  answer: Answer | undefined;
}

export interface Answer {
  readonly by: Answerer;
  readonly passes: boolean;
  readonly waitMs: number;
  /** The part of the wait in which this process itself was blocked. */
  readonly stallMs: number;
  /** The unexpected error of a request without an answer. */
  readonly error: unknown;
}

export interface Load {
  readonly requests: readonly SentRequest[];
  /** Sends one more request of each policy in this turn of the event loop. */
  sendNow(): void;
  /** The number of requests that wait for their answer. */
  inFlight(): number;
  /** Ends the load when all requests are answered, or should have been long ago. */
  stop(): Promise<LoadEnd>;
}

interface LoadEnd {
  /** The longest time for which this process itself was blocked. */
  readonly stallMs: number;
}

/** A log that keeps its lines. */
export class RecordingLog extends Log {
  readonly lines: string[];

  constructor() {
    const lines: string[] = [];
    const add = (line: string): void => void lines.push(line);
    super({ log: add, warn: add, error: add });
    this.lines = lines;
  }
}

export function storeFor(redis: RedisOption, namespace: string, log: Log): Promise<Store> {
  return createStore({ ...STORE_OPTIONS, redis, namespace }, log);
}

/** Clients of all three policies, which send at a steady pace until they are stopped. */
export function startLoad(store: Store, namespace: string, clientsEach = CLIENTS): Load {
  const requests: SentRequest[] = [];
  const clients = { areStopped: false };
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const stalls = new StallClock();
  const numbers = new Map<OnStoreError, number>();
  const send = async (policy: OnStoreError): Promise<number> => {
    const number = numbers.get(policy) ?? 0;
    numbers.set(policy, number + 1);
    const one = newRequest(namespace, policy, number);
    requests.push(one);
    const beforeMs = stalls.totalMs();
    const answer = await answerOf(store, one);
    one.answer = { ...answer, stallMs: stalls.totalMs() - beforeMs };
    return one.answer.waitMs;
  };
  const call = async (policy: OnStoreError): Promise<void> => {
    await sleep(Math.random() * PACE_MS);
    while (!clients.areStopped) {
      const waitMs = await send(policy);
      await sleep(Math.max(0, PACE_MS * (0.5 + Math.random()) - waitMs));
    }
  };
  const calling = POLICIES.flatMap((policy) => Array.from({ length: clientsEach }, () => call(policy)));
  return {
    requests,
    sendNow: () => {
      for (const policy of POLICIES) calling.push(send(policy).then(() => undefined));
    },
    inFlight: () => requests.slice(-MOST_IN_FLIGHT * 2).filter(({ answer }) => answer === undefined).length,
    stop: async () => {
      clients.areStopped = true;
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

function newRequest(namespace: string, policy: OnStoreError, number: number): SentRequest {
  const lane = LANES[number % LANES.length]!;
  const ofLane = Math.floor(number / LANES.length);
  const group = Math.floor(ofLane / SHARING);
  const [own, shared] =
    lane === 'plain'
      ? [PLAIN, PLAIN]
      : [mixedKind(ofLane), mixedKind(group * POLICIES.length + POLICIES.indexOf(policy))];
  const ownKey = `${namespace}:own-${policy}:${own.window}:${number}`;
  const sharedKey = `${namespace}:shared-${policy}:${shared.window}:${lane}-${group}`;
  return {
    policy,
    ownKey,
    sharedKey,
    checks: [
      check(ownKey, { ...own.parts(OWN_LIMIT), onStoreError: policy }),
      check(sharedKey, { ...shared.parts(SHARED_LIMIT), onStoreError: policy }),
    ],
    startMs: performance.now(),
    answer: undefined,
  };
}

async function answerOf(store: Store, { checks, startMs }: SentRequest): Promise<Omit<Answer, 'stallMs'>> {
  const waitMs = (): number => performance.now() - startMs;
  try {
    const { source, allowed } = toVerdict(await store.consume(checks));
    return { by: source, passes: allowed, waitMs: waitMs(), error: undefined };
  } catch (error) {
    const isUnavailable = isFreqLimitError(error) && error.code === 'FREQ_LIMIT_STORE_FAILED';
    return { by: isUnavailable ? 'unavailable' : 'none', passes: false, waitMs: waitMs(), error };
  }
}
