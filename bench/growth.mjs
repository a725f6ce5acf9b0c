// How the cost of a check grows with checks a request, requests in flight and live counters; memory per counter.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ROOMY } from './apps/decorate.mjs';
import { closedLoop, turn } from './race.mjs';
import { median, short } from './stats.mjs';
import { serviceOf } from './subjects.mjs';

const TURN_MS = 400;
const CLIENTS = 20_000;
const FILL_CHECKS = 500;
const CHECKS = 3;

const COST = ['checks/s', 'server µs', 'client µs', 'p50 ms', 'p99 ms'];

export async function benchGrowth(redis, { rounds, quick }, say) {
  const onRedis = { redis: `redis://127.0.0.1:${redis.port}`, timeoutMs: 10_000 };
  const { service } = await serviceOf(onRedis);
  const cost = async (count, inFlight, live = CLIENTS) => {
    const ask = () => service.consume(checksOf(count, Math.floor(Math.random() * live)));
    await closedLoop(ask, inFlight, TURN_MS);
    return costOf(ask, inFlight, count, rounds, redis);
  };
  const sections = [];

  say('growth: checks a request');
  let rows = [];
  for (const count of quick ? [1, 50] : [1, 2, 5, 10, 20, 50]) rows.push([count, ...(await cost(count, 64))]);
  sections.push({ title: 'Checks a request, 64 in flight', columns: ['checks', ...COST], rows });

  say('growth: requests in flight');
  rows = [];
  for (const inFlight of quick ? [1, 1000] : [1, 10, 50, 200, 1000]) {
    rows.push([inFlight, ...(await cost(CHECKS, inFlight))]);
  }
  sections.push({ title: 'Requests in flight, 3 checks each', columns: ['in flight', ...COST], rows });

  const sizes = quick ? [1e3, 1e5] : [1e3, 1e4, 1e5, 1e6];
  sections.push(await liveCounters('Redis', service, sizes, rounds, redis, say, true));
  const { service: memory } = await serviceOf({ maxCounters: 2e6 });
  sections.push(await liveCounters('memory', memory, sizes, rounds, redis, say, false));
  return sections;
}

async function liveCounters(store, service, sizes, rounds, redis, say, isRedis) {
  const memoryNow = isRedis ? () => redis.usedMemory() : () => heapUsed();
  await redis.control.flushall();
  const rows = [];
  const empty = await memoryNow();
  let filled = 0;
  for (const size of sizes) {
    say(`growth: ${size} live counters, ${store}`);
    for (; filled < size; filled += FILL_CHECKS) await service.consume(fill(filled));
    const bytes = Math.round(((await memoryNow()) - empty) / size);
    const ask = () =>
      service.consume(Array.from({ length: CHECKS }, () => counter(Math.floor(Math.random() * size))));
    rows.push([size, ...(await costOf(ask, 200, CHECKS, rounds, redis)), bytes]);
  }
  return {
    title: `Live counters, ${store}, 200 requests of 3 checks in flight`,
    columns: ['counters', ...COST, 'bytes each'],
    rows,
  };
}

async function costOf(ask, inFlight, checks, rounds, redis) {
  const turns = [];
  for (let round = 0; round < rounds; round++) {
    turns.push(await turn(() => closedLoop(ask, inFlight, TURN_MS), checks, redis));
  }
  const fields = ['perSecond', 'serverUs', 'clientUs', 'p50', 'p99'];
  return fields.map((field) => short(median(turns.map((one) => one[field]))));
}

function checksOf(count, client) {
  return Array.from({ length: count }, (_, i) => ({
    name: `limit${i}`,
    key: client,
    window: 3600,
    limit: ROOMY,
  }));
}

const counter = (n) => ({ name: 'live', key: `client-${n}`, window: 36_000, limit: ROOMY });

function fill(from) {
  return Array.from({ length: FILL_CHECKS }, (_, i) => counter(from + i));
}

let collect;
function heapUsed() {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc');
  }
  collect();
  return process.memoryUsage().heapUsed;
}
