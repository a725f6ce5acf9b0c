// The cost of a request to FreqLimitService, with a fixed number of requests in flight.
import { closedLoop, turn } from '../race.mjs';
import { median, short } from '../stats.mjs';
import { serviceOf } from '../subjects.mjs';

const TURN_MS = 400;

export const COST = ['requests/s', 'Redis µs/request', 'process µs/request', 'p50 ms', 'p99 ms'];

const FIELDS = ['perSecond', 'serverUs', 'clientUs', 'p50', 'p99'];

/** Runs a part with a service of an application, and closes the application. */
export async function withService(options, run) {
  const { app, service } = await serviceOf({ timeoutMs: 10_000, ...options });
  try {
    return await run(service);
  } finally {
    await app.close();
  }
}

export function urlOf(redis) {
  return `redis://127.0.0.1:${redis.port}`;
}

/** @param ask sends one request @returns the columns of `COST`, each the median over the rounds */
export async function costOf(ask, inFlight, rounds, redis) {
  await closedLoop(ask, inFlight, TURN_MS);
  const turns = [];
  for (let round = 0; round < rounds; round++) {
    turns.push(await turn(() => closedLoop(ask, inFlight, TURN_MS), 1, redis));
  }
  return FIELDS.map((field) => short(median(turns.map((one) => one[field]))));
}
