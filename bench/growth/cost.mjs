// What a request of FreqLimitService costs, with a fixed number of requests in flight.
import { closedLoop, turn } from '../race.mjs';
import { median, short } from '../stats.mjs';
import { serviceOf } from '../subjects.mjs';

export const TURN_MS = 400;

export const COST = ['checks/s', 'server µs', 'client µs', 'p50 ms', 'p99 ms'];

const FIELDS = ['perSecond', 'serverUs', 'clientUs', 'p50', 'p99'];

export async function redisService(redis, options) {
  const { service } = await serviceOf({
    redis: `redis://127.0.0.1:${redis.port}`,
    timeoutMs: 10_000,
    ...options,
  });
  return service;
}

/** @returns the columns of `COST`, each the median over the rounds, per check */
export async function costOf(ask, inFlight, checks, rounds, redis) {
  await closedLoop(ask, inFlight, TURN_MS);
  const turns = [];
  for (let round = 0; round < rounds; round++) {
    turns.push(await turn(() => closedLoop(ask, inFlight, TURN_MS), checks, redis));
  }
  return FIELDS.map((field) => short(median(turns.map((one) => one[field]))));
}
