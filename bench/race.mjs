// Limiters in one process, in rounds of short turns, a fixed number of requests in flight.
import { interval, median, percentile, short } from './stats.mjs';

/** Keeps `inFlight` requests in flight until the time is over. @returns milliseconds of each */
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

/** Medians over the rounds, and means with their 95 % intervals; a ratio is taken of two turns of the same round. */
function compare(name, own, base) {
  const values = {
    throughput: own.map((one, i) => one.perSecond / base[i].perSecond),
    serverCpu: own.map((one, i) => one.serverUs / base[i].serverUs),
    clientCpu: own.map((one, i) => one.clientUs / base[i].clientUs),
    p99: own.map((one, i) => one.p99 / base[i].p99),
    perSecond: own.map((one) => one.perSecond),
    serverUs: own.map((one) => one.serverUs),
    clientUs: own.map((one) => one.clientUs),
  };
  const each = (summary) =>
    Object.fromEntries(Object.entries(values).map(([field, list]) => [field, summary(list)]));
  return {
    name,
    ...each((list) => short(median(list))),
    intervals: each((list) => {
      const { mean, from, to } = interval(list);
      return { mean: short(mean), from: short(from), to: short(to) };
    }),
  };
}
