// Limiters in one process, in rounds of short turns, a fixed number of requests in flight.
import { median, percentile, short } from './stats.mjs';

/** Keeps so many requests in flight until the time is over. @returns milliseconds of each */
export async function closedLoop(ask, inFlight, ms) {
  const end = performance.now() + ms;
  const latencies = [];
  const worker = async () => {
    let from = performance.now();
    do {
      await ask();
      const now = performance.now();
      latencies.push(now - from);
      from = now;
    } while (from < end);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return latencies;
}

export async function turn(run, checks, redis) {
  const before = await redis.work();
  const cpu = process.cpuUsage();
  const from = performance.now();
  const latencies = await run();
  const seconds = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const after = await redis.work();
  const count = latencies.length * checks;
  return {
    perSecond: count / seconds,
    serverUs: (after.cpuUs - before.cpuUs) / count,
    clientUs: (user + system) / count,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

/** @param runners by name, the base of the ratios first; @param checks of one request */
export async function race(runners, checks, rounds, redis) {
  const names = Object.keys(runners);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 ? names.toReversed() : names) {
      turns[name].push(await turn(runners[name], checks, redis));
    }
  }
  return names.map((name) => compare(name, turns[name], turns[names[0]]));
}

function compare(name, own, base) {
  const ratio = (field) => short(median(own.map((one, i) => one[field] / base[i][field])));
  const middle = (field) => short(median(own.map((one) => one[field])));
  return {
    name,
    throughput: ratio('perSecond'),
    serverCpu: ratio('serverUs'),
    clientCpu: ratio('clientUs'),
    p99: ratio('p99'),
    perSecond: middle('perSecond'),
    serverUs: middle('serverUs'),
    clientUs: middle('clientUs'),
  };
}
