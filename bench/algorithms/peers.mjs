// The limiters of other libraries for bursts and sliding windows, with one limit per request, as applications use them.
import { Ratelimit } from '@upstash/ratelimit';
import { Redis } from 'ioredis';
import { BurstyRateLimiter, RateLimiterRedis } from 'rate-limiter-flexible';
import { ROOMY } from '../apps/decorate.mjs';
import { sendAll, turnsOf } from '../race.mjs';
import { serviceOf } from '../subjects.mjs';
import { intervalOfBlocks } from './blocks.mjs';
import { UpstashClient } from './upstash.mjs';

const HOUR = 3600;
const REQUESTS = 4000;
/** A client over its limit usually sends many requests. */
const CLIENTS = { passes: 4000, denied: 200 };
const IN_FLIGHT = 200;
const STATES = Object.keys(CLIENTS);

// each has keys of its own
let limiters = 0;

/** Units that flow in per hour: none during a turn. */
const REFILL = 1;
const sizeOf = (passes) => (passes ? ROOMY : 1);

/** By name, `(port, passes) → (client) → promise of whether its request passes`, once the client has sent two before. */
const LIMITERS = {
  'ours, sliding window': (port, passes) => ours(port, slidingWindow(passes)),
  'ours, token bucket': (port, passes) => ours(port, tokenBucket(passes)),
  'ours, sliding window, no coalescing': (port, passes) =>
    ours(port, slidingWindow(passes), { coalesce: false }),
  'ours, token bucket, no coalescing': (port, passes) => ours(port, tokenBucket(passes), { coalesce: false }),
  'upstash, sliding window': (port, passes) =>
    upstash(port, Ratelimit.slidingWindow(sizeOf(passes), `${HOUR} s`)),
  'upstash, token bucket': (port, passes) =>
    upstash(port, Ratelimit.tokenBucket(REFILL, `${HOUR} s`, sizeOf(passes))),
  'bursty, within the rate': (port, passes) => bursty(port, sizeOf(passes), 1),
  'bursty, above the rate': (port, passes) => bursty(port, 1, sizeOf(passes)),
};

const slidingWindow = (passes) => ({ algorithm: 'sliding-window', limit: sizeOf(passes) });
const tokenBucket = (passes) => ({ algorithm: 'token-bucket', limit: REFILL, burst: sizeOf(passes) });

async function ours(port, rule, options) {
  const namespace = `peer${++limiters}`;
  const redis = `redis://127.0.0.1:${port}`;
  const { service } = await serviceOf({ redis, namespace, timeoutMs: 5000, ...options });
  return async (key) => (await service.consume([{ name: 'a', key, window: HOUR, ...rule }])).allowed;
}

function upstash(port, limiter) {
  const redis = new UpstashClient(new Redis({ port }));
  const limit = new Ratelimit({ redis, limiter, prefix: `peer${++limiters}` });
  return async (key) => (await limit.limit(key)).success;
}

/** Requests above the rate are counted once more, by a second limiter for bursts. */
function bursty(port, rate, burst) {
  const storeClient = new Redis({ port });
  const limiterOf = (points) =>
    new RateLimiterRedis({ storeClient, keyPrefix: `peer${++limiters}`, points, duration: HOUR });
  const limiter = new BurstyRateLimiter(limiterOf(rate), limiterOf(burst));
  return async (key) => {
    try {
      await limiter.consume(key);
      return true;
    } catch (denial) {
      if (denial instanceof Error) throw denial;
      return false;
    }
  };
}

/** @returns {{ name: string, passes: object, denied: object }[]} costs of a request */
export async function peersWithKinds(redis, { blocks, rounds }, say) {
  say('kinds of counter: peers');
  await redis.control.flushall();
  const runners = {};
  for (const [name, open] of Object.entries(LIMITERS)) {
    for (const state of STATES) runners[`${name}, ${state}`] = await runnerOf(redis, open, state);
  }
  const turns = await turnsOf(runners, 1, blocks * rounds, redis);
  return Object.keys(LIMITERS).map((name) => ({
    name,
    ...Object.fromEntries(STATES.map((state) => [state, costsOf(turns[`${name}, ${state}`], blocks)])),
  }));
}

async function runnerOf(redis, open, state) {
  const passes = state === 'passes';
  const ask = await open(redis.port, passes);
  const request = (n) => ask(`client-${n % CLIENTS[state]}`);
  const check = async (n) => {
    if ((await request(n)) !== passes) throw new Error(`a request ${passes ? 'is denied' : 'passes'}`);
  };
  // opens all counters, and fills them if requests are to be denied: a limit and a burst of 1 let two pass
  for (let i = 0; i < 2; i++) await sendAll(request, IN_FLIGHT, REQUESTS);
  return () => sendAll(check, IN_FLIGHT, REQUESTS);
}

function costsOf(turns, blocks) {
  const fields = ['serverUs', 'scriptUs', 'calls', 'clientUs'];
  return Object.fromEntries(
    fields.map((field) => [
      field,
      intervalOfBlocks(
        turns.map((turn) => turn[field]),
        blocks,
      ),
    ]),
  );
}
