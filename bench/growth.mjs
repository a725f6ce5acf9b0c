// How costs grow: with handlers, rules of a request, requests in flight, counters, and processes on one Redis.
import { counters } from './growth/counters.mjs';
import { inFlight } from './growth/in-flight.mjs';
import { processes } from './growth/processes.mjs';
import { rulesOfRequest } from './growth/rules.mjs';
import { startUp } from './growth/start-up.mjs';

const PARTS = [startUp, rulesOfRequest, inFlight, counters, processes];

/** @returns sections `{ id, title, columns, rows }`, from which growth-tables.mjs makes the tables of the page */
export async function benchGrowth(redis, options, say) {
  const sections = [];
  for (const part of PARTS) {
    await redis.control.flushall();
    sections.push(...(await part(redis, options, say)));
  }
  return sections;
}
