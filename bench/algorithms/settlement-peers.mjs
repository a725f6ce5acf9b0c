// Charging an estimate and settling it, and taking and releasing a lease: here and in other libraries that can. Each request has
// one limit.
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { Redis } from 'ioredis';
import { Semaphore } from 'redis-semaphore';
import { ROOMY } from '../apps/decorate.mjs';
import { sendAll, turnsOf } from '../race.mjs';
import { serviceOf } from '../subjects.mjs';
import { costsOf } from './blocks.mjs';

const REQUESTS = 4000;
const IN_FLIGHT = 200;
const HOUR = 3600;
const ESTIMATE = 100;
const ACTUAL = 90;

let opened = 0;
/** Each limiter has keys of its own. */
const ownPrefix = () => `settled${++opened}`;

const check = (key) => ({ name: 'a', key, window: HOUR, limit: ROOMY, cost: ESTIMATE });

/** By name, `(service, key) → promise`: one request. */
const OURS = {
  charged: (service, key) => service.consume(check(key)),
  'charged and settled': async (service, key) => {
    const verdict = await service.consume(check(key), { settle: true });
    await verdict.settle(ACTUAL);
  },
  'taken and released': async (service, key) => {
    const { allowed } = await service.hold({ name: 'b', key, concurrency: IN_FLIGHT }, () => undefined);
    if (!allowed) throw new Error('a lease was denied');
  },
};

const FLEXIBLE = {
  charged: (limiter, key) => limiter.consume(key, ESTIMATE),
  'charged and settled': async (limiter, key) => {
    await limiter.consume(key, ESTIMATE);
    await limiter.reward(key, ESTIMATE - ACTUAL);
  },
};

/** @returns {{ name: string }[]} costs of a request */
export async function peersThatSettle(redis, { blocks, rounds }, say) {
  say('settled requests: other libraries');
  await redis.control.flushall();
  const limiters = {
    ours: await openOurs(redis.port),
    'ours, no coalescing': await openOurs(redis.port, { coalesce: false }),
    flexible: openFlexible(redis.port),
    semaphore: openSemaphore(redis.port),
  };
  const runners = {};
  for (const [library, { ways }] of Object.entries(limiters))
    for (const [way, ask] of Object.entries(ways)) runners[`${library}, ${way}`] = await runnerOf(ask);
  const turns = await turnsOf(runners, 1, blocks * rounds, redis);
  for (const { close } of Object.values(limiters)) await close();
  return Object.entries(turns).map(([name, own]) => ({ name, ...costsOf(own, blocks) }));
}

async function openOurs(port, options) {
  const redis = `redis://127.0.0.1:${port}`;
  const { app, service } = await serviceOf({ redis, namespace: ownPrefix(), timeoutMs: 5000, ...options });
  return { ways: bound(OURS, service), close: () => app.close() };
}

function openFlexible(port) {
  const storeClient = new Redis({ port });
  const limiter = new RateLimiterRedis({
    storeClient,
    keyPrefix: ownPrefix(),
    points: ROOMY,
    duration: HOUR,
  });
  return { ways: bound(FLEXIBLE, limiter), close: () => storeClient.disconnect() };
}

/** Its leases live as long as ours, and are renewed as often. */
const LEASE = { lockTimeout: 15_000, refreshInterval: 5_000 };

function openSemaphore(port) {
  const client = new Redis({ port });
  const prefix = ownPrefix();
  const takeAndRelease = async (key) => {
    const semaphore = new Semaphore(client, `${prefix}:${key}`, IN_FLIGHT, LEASE);
    if (!(await semaphore.tryAcquire())) throw new Error('a lease was denied');
    await semaphore.release();
  };
  return { ways: { 'taken and released': takeAndRelease }, close: () => client.disconnect() };
}

function bound(ways, limiter) {
  return Object.fromEntries(Object.entries(ways).map(([way, ask]) => [way, (key) => ask(limiter, key)]));
}

async function runnerOf(ask) {
  const run = () => sendAll((n) => ask(`client-${n}`), IN_FLIGHT, REQUESTS);
  // the counters exist, and the code is warm
  for (let i = 0; i < 2; i++) await run();
  return run;
}
