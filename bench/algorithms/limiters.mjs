// Limiters with a sliding window or for bursts, each with one limit and its default options.
import { Ratelimit } from '@upstash/ratelimit';
import { Redis } from 'ioredis';
import { BurstyRateLimiter, RateLimiterRedis } from 'rate-limiter-flexible';
import { ROOMY } from '../apps/decorate.mjs';
import { serviceOf } from '../subjects.mjs';
import { UpstashClient } from './upstash.mjs';

const HOUR = 3600;
/** Units that flow in per hour: none in a run. */
const REFILL = 1;

const sizeOf = (passes) => (passes ? ROOMY : 1);
const slidingWindow = (passes) => ({ algorithm: 'sliding-window', limit: sizeOf(passes) });
const tokenBucket = (passes) => ({ algorithm: 'token-bucket', limit: REFILL, burst: sizeOf(passes) });
const ALONE = { coalesce: false };

/**
 * By name, `(port, passes) → { ask, close }`: `ask(client)` promises whether a request passes. It passes or not, as given, once
 * the client has sent two others.
 */
export const LIMITERS = {
  'ours, sliding window': (port, passes) => ours(port, slidingWindow(passes)),
  'ours, token bucket': (port, passes) => ours(port, tokenBucket(passes)),
  'ours, sliding window, no coalescing': (port, passes) => ours(port, slidingWindow(passes), ALONE),
  'ours, token bucket, no coalescing': (port, passes) => ours(port, tokenBucket(passes), ALONE),
  'upstash, sliding window': (port, passes) =>
    upstash(port, Ratelimit.slidingWindow(sizeOf(passes), `${HOUR} s`)),
  'upstash, token bucket': (port, passes) =>
    upstash(port, Ratelimit.tokenBucket(REFILL, `${HOUR} s`, sizeOf(passes))),
  'bursty, within the rate': (port, passes) => bursty(port, sizeOf(passes), 1),
  'bursty, above the rate': (port, passes) => bursty(port, 1, sizeOf(passes)),
};

let opened = 0;
/** Each limiter has keys of its own. */
const ownPrefix = () => `limiter${++opened}`;

async function ours(port, rule, options) {
  const redis = `redis://127.0.0.1:${port}`;
  const { app, service } = await serviceOf({ redis, namespace: ownPrefix(), timeoutMs: 5000, ...options });
  const ask = async (key) => (await service.consume([{ name: 'a', key, window: HOUR, ...rule }])).allowed;
  return { ask, close: () => app.close() };
}

function upstash(port, limiter) {
  const client = new Redis({ port });
  const limit = new Ratelimit({ redis: new UpstashClient(client), limiter, prefix: ownPrefix() });
  return { ask: async (key) => (await limit.limit(key)).success, close: () => client.disconnect() };
}

/** Requests above the rate are counted once more, by a second limiter for bursts. */
function bursty(port, rate, burst) {
  const storeClient = new Redis({ port });
  const limiterOf = (points) =>
    new RateLimiterRedis({ storeClient, keyPrefix: ownPrefix(), points, duration: HOUR });
  const limiter = new BurstyRateLimiter(limiterOf(rate), limiterOf(burst));
  const ask = async (key) => {
    try {
      await limiter.consume(key);
      return true;
    } catch (denial) {
      if (denial instanceof Error) throw denial;
      return false;
    }
  };
  return { ask, close: () => storeClient.disconnect() };
}
