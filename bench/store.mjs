// The stores alone: what a check costs Redis and the process, compared with native commands and with the peers.
import { BareCalls } from './bare-calls.mjs';
import { race, closedLoop } from './race.mjs';
import { RawPipeline } from './raw.mjs';
import { before, flexible, nestLab, ours } from './subjects.mjs';

const TURN_MS = 400;
const IN_FLIGHT = 200;
const CLIENTS = 4000;
const ROUTES = 8;
const HOUR = 3600;

const LIMITS = ['a', 'b', 'c'];
const distinct = (n) => LIMITS.map((name, i) => ({ name, id: `client-${n}`, window: (i + 1) * HOUR }));
const hot = (n) => [
  { name: 'a', id: 'everybody', window: HOUR },
  { name: 'b', id: `route-${n % ROUTES}`, window: 2 * HOUR },
  { name: 'c', id: `client-${n}`, window: 3 * HOUR },
];

export async function benchStore(redis, { rounds, quick, against }, say) {
  const sections = [];
  const workloads = {
    [`3 limits a request, all keys distinct, ${IN_FLIGHT} in flight`]: distinct,
    [`3 limits a request, 1 for all, 1 of ${ROUTES} routes, 1 of ${CLIENTS} clients, ${IN_FLIGHT} in flight`]:
      hot,
  };
  for (const [title, checksOf] of Object.entries(workloads)) {
    say(title);
    const requests = Array.from({ length: CLIENTS }, (_, n) => checksOf(n));
    sections.push(await compareAll(redis, title, requests, IN_FLIGHT, rounds, true, against));
  }
  for (const [size, inFlight] of quick
    ? [[1, 64]]
    : [
        [1, 200],
        [5, 64],
        [32, 16],
        [128, 8],
        [512, 4],
      ]) {
    const title = `${size} checks a request, ${inFlight} requests in flight`;
    say(title);
    const requests = Array.from({ length: Math.ceil(12_000 / size) }, (_, n) => requestOf(n, size));
    sections.push(await compareAll(redis, title, requests, inFlight, rounds, false, against));
  }
  return sections;
}

function requestOf(n, size) {
  return Array.from({ length: size }, (_, i) => ({ name: 'a', id: `client-${n}-${i}`, window: HOUR }));
}

async function compareAll(redis, title, requests, inFlight, rounds, withPeers, against) {
  await redis.control.flushall();
  const { port } = redis;
  const raw = await rawRunners(redis, requests, inFlight);
  const limiters = { ours: await ours(port) };
  if (against !== undefined) limiters['ours, before'] = await before(port);
  if (withPeers) {
    limiters['ours, no coalescing'] = await ours(port, { coalesce: false, namespace: 'alone' });
    limiters['throttler + nest-lab'] = nestLab(port);
    limiters['rate-limiter-flexible'] = flexible(port);
  }
  const runners = { ...raw };
  for (const [name, ask] of Object.entries(limiters)) {
    let n = 0;
    const next = () => ask(requests[n++ % requests.length]);
    runners[name] = () => closedLoop(next, inFlight, TURN_MS);
    // all counters open, and the code warm
    while (n < requests.length) await closedLoop(next, inFlight, TURN_MS);
  }
  for (const run of Object.values(raw)) await run();
  const rows = await race(runners, requests[0].length, rounds, redis);
  return { title, base: Object.keys(raw)[0], rows };
}

async function rawRunners(redis, requests, inFlight) {
  // keys as long as ours, because the length has a cost
  const keyOf = ({ name, id, window }) => `rw:service.${name}~0123456789:${window * 1000}:${id}`;
  const all = [...new Set(requests.flat().map(keyOf))];
  for (let from = 0; from < all.length; from += 1000) {
    const pipeline = redis.control.pipeline();
    for (const key of all.slice(from, from + 1000)) pipeline.set(key, 0, 'EX', HOUR);
    await pipeline.exec();
  }
  const commands = {
    'raw INCR + PTTL': (key) => [
      ['INCR', key],
      ['PTTL', key],
    ],
    'raw INCR': (key) => [['INCR', key]],
  };
  const runners = {};
  for (const [name, of] of Object.entries(commands)) {
    const pipeline = await RawPipeline.open(
      redis.port,
      requests.map((checks) => checks.map(keyOf).flatMap(of)),
    );
    runners[name] = () => pipeline.run(inFlight, TURN_MS);
  }
  const bare = await BareCalls.open(redis.port, requests, keyOf);
  runners['bare evalsha, 128 counters a call'] = () => bare.run(inFlight, TURN_MS);
  return runners;
}
