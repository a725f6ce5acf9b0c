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

/** Sends `count` requests, `inFlight` at a time. @returns milliseconds of each */
export async function sendAll(ask, inFlight, count) {
  const latencies = [];
  let sent = 0;
  const worker = async () => {
    while (sent < count) {
      const from = performance.now();
      await ask(sent++);
      latencies.push(performance.now() - from);
    }
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
    scriptUs: (after.scriptUs - before.scriptUs) / count,
    calls: (after.calls - before.calls) / latencies.length,
    clientUs: (user + system) / count,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

/** @param runners by name, the base of the ratios first; @param checks of one request */
export async function race(runners, checks, rounds, redis) {
  const turns = await turnsOf(runners, checks, rounds, redis);
  const [base] = Object.values(turns);
  return Object.entries(turns).map(([name, own]) => compare(name, own, base));
}

/** @returns by name of the runner, its turns; what a runner has as `prepare` is done before each, and not measured */
export async function turnsOf(runners, checks, rounds, redis) {
  const names = Object.keys(runners);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 ? names.toReversed() : names) {
      await runners[name].prepare?.();
      turns[name].push(await turn(runners[name], checks, redis));
    }
  }
  return turns;
}

/** Medians over the rounds, and means with their 95 % intervals; a ratio is taken of two turns of the same round. */
function compare(name, own, base) {
  const values = {
    throughput: ratios(own, base, 'perSecond'),
    serverCpu: ratios(own, base, 'serverUs'),
    clientCpu: ratios(own, base, 'clientUs'),
    p99: ratios(own, base, 'p99'),
    ...Object.fromEntries(
      ['perSecond', 'serverUs', 'clientUs'].map((field) => [field, own.map((one) => one[field])]),
    ),
  };
  const each = (summary) =>
    Object.fromEntries(Object.entries(values).map(([field, list]) => [field, summary(list)]));
  return { name, ...each((list) => short(median(list))), intervals: each(shortInterval) };
}

/** Of turns of the same round. */
export function ratios(own, base, field) {
  return own.map((one, i) => one[field] / base[i][field]);
}

/** A mean and its 95 % interval, with three digits. */
export function shortInterval(values) {
  const { mean, from, to } = interval(values);
  return { mean: short(mean), from: short(from), to: short(to) };
}
