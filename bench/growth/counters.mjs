// Clients: the cost of a request and the bytes of a counter, by the number of counters.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ROOMY } from '../apps/decorate.mjs';
import { COST, costOf, urlOf, withService } from './cost.mjs';

const FILL_CHECKS = 500;
const CHECKS = 3;
const IN_FLIGHT = 200;

/** With fewer, the counters take less memory than what the process allocates and frees for other reasons. */
const FEWEST_IN_HEAP = 1e4;

export async function counters(redis, { rounds, quick }, say) {
  const sizes = quick ? [1e4] : [1e3, 1e4, 1e5, 1e6];
  const stores = [
    {
      id: 'counters-redis',
      name: 'Redis',
      options: { redis: urlOf(redis) },
      usedMemory: () => redis.usedMemory(),
      fewest: 0,
    },
    {
      id: 'counters-memory',
      name: 'memory',
      options: { redis: false, maxCounters: 2e6 },
      usedMemory: heapUsed,
      fewest: FEWEST_IN_HEAP,
    },
  ];
  const sections = [];
  for (const store of stores) {
    const run = (service) => grow({ ...store, service }, sizes, rounds, redis, say);
    sections.push(await withService(store.options, run));
  }
  return sections;
}

async function grow({ id, name, service, usedMemory, fewest }, sizes, rounds, redis, say) {
  const rows = [];
  await service.consume(fill(0));
  const empty = await usedMemory();
  let filled = FILL_CHECKS;
  for (const size of sizes) {
    say(`growth: ${size} counters, ${name}`);
    for (; filled < size; filled += FILL_CHECKS) await service.consume(fill(filled));
    const bytes = Math.round(((await usedMemory()) - empty) / (filled - FILL_CHECKS));
    const ask = () =>
      service.consume(Array.from({ length: CHECKS }, () => counter(Math.floor(Math.random() * size))));
    const cost = await costOf(ask, IN_FLIGHT, rounds, redis);
    rows.push([size, ...cost, size < fewest ? null : bytes]);
  }
  const title = `Live counters, ${name}, ${IN_FLIGHT} requests of ${CHECKS} rules in flight`;
  return { id, title, columns: ['counters', ...COST, 'bytes each'], rows };
}

const counter = (n) => ({ name: 'live', key: `client-${n}`, window: 36_000, limit: ROOMY });

function fill(from) {
  return Array.from({ length: FILL_CHECKS }, (_, i) => counter(from + i));
}

let collect;
async function heapUsed() {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  // objects of earlier parts of the benchmark need several collections
  for (let i = 0; i < 5; i++) {
    collect();
    await nextTurn();
  }
  return process.memoryUsage().heapUsed;
}
