// Applications under saturation, by a closed loop: what share of the bare application's throughput is left. In blocks and
// rounds as at a fixed rate, see rate.mjs: fresh processes for each block, turns in a random order, ratios within a round.
//
// But each application has a process of its own. In a shared one, the engine compiles the code of Nest for many
// applications; that makes the bare one slower (some 2 µs of 14) and the others hardly, which would flatter them here.
import { BARE, BARE_AGAIN, VARIANTS } from './apps/variants.mjs';
import { Applications } from './child.mjs';
import { load } from './load.mjs';
import { random, shuffled } from './random.mjs';
import { interval, mean, middleOf, short } from './stats.mjs';

// long enough for the engine to compile the code of a process; with less, those with more code looked slower than they are
const WARM_UP_SECONDS = 2;
const TURN_SECONDS = 1;
// everything is compared with it: the mean of three processes differs less from block to block
const BARE_PROCESSES = 3;

/** @returns a row for each variant; the ends of its interval are null with fewer than two blocks */
export async function benchHttp(redis, { platform, blocks, rounds, names, seed }, say) {
  const randomNumber = random(seed);
  const bare = Array.from({ length: BARE_PROCESSES }, () => BARE);
  const measured = [];
  for (let block = 0; block < blocks; block++) {
    say(`${platform}, saturated: block ${block + 1} of ${blocks}`);
    measured.push(await runBlock(redis, platform, [...bare, BARE_AGAIN, ...names], rounds, randomNumber));
  }
  return [BARE, BARE_AGAIN, ...names].map((name) => rowOf(name, measured));
}

/** @returns all turns of a block */
async function runBlock(redis, platform, names, rounds, randomNumber) {
  const processes = [];
  try {
    for (const name of names) {
      const applications = await Applications.start([name], { platform, redisPort: redis.port });
      processes.push({ name, applications });
    }
    await warmUp(processes);
    const turns = [];
    for (let round = 0; round < rounds; round++) {
      for (const { name, applications } of shuffled(processes, randomNumber)) {
        turns.push({ name, round, ...(await turn(applications, name, redis)) });
      }
    }
    return turns;
  } finally {
    for (const { applications } of processes) await applications.stop();
  }
}

async function warmUp(processes) {
  for (const { name, applications } of processes) await load(applications.ports.get(name), WARM_UP_SECONDS);
}

async function turn(applications, name, redis) {
  const [before, cpuBefore] = [await redis.work(), await applications.ask('usage')];
  const { requests, seconds, p50, p99, denied, broken } = await load(
    applications.ports.get(name),
    TURN_SECONDS,
  );
  const [after, cpuAfter] = [await redis.work(), await applications.ask('usage')];
  return {
    perSecond: requests / seconds,
    p50,
    p99,
    denied: denied / requests,
    broken,
    appCpuUs: (cpuAfter.cpuUs - cpuBefore.cpuUs) / requests,
    redisCpuUs: (after.cpuUs - before.cpuUs) / requests,
    calls: (after.calls - before.calls) / requests,
  };
}

/** @param blocks the turns of each */
function rowOf(name, blocks) {
  const base = VARIANTS[name].base ?? BARE;
  const own = blocks.flat().filter((turn) => turn.name === name);
  const ratio = (field, to = base) => shortInterval(blocks.map((turns) => ratioOf(name, to, turns, field)));
  const middle = (field) => short(middleOf(own.map((turn) => turn[field])));
  const throughput = ratio('perSecond');
  const headers = guardWithHeadersOf(name);
  const hasHeaders = blocks[0].some((turn) => turn.name === headers);
  return {
    name,
    base,
    throughput: throughput.mean,
    from: throughput.from,
    to: throughput.to,
    toHeaders: hasHeaders ? ratio('perSecond', headers) : undefined,
    appCpu: ratio('appCpuUs').mean,
    p50: ratio('p50').mean,
    p99: ratio('p99').mean,
    p50Ms: middle('p50'),
    p99Ms: middle('p99'),
    redisCpuUs: middle('redisCpuUs'),
    calls: middle('calls'),
    denied: middle('denied'),
    broken: own.reduce((sum, turn) => sum + turn.broken, 0),
  };
}

function shortInterval(values) {
  const { mean: middle, from, to } = interval(values);
  return { mean: short(middle), from: short(from), to: short(to) };
}

/** The guard that only sets the headers that ours sets: larger responses take time by themselves. */
function guardWithHeadersOf(name) {
  const limits = /^ours (\d+) (?:memory|redis)/.exec(name)?.[1];
  return VARIANTS[name].base === undefined && limits ? `guard with headers ${limits}` : undefined;
}

/** The middle of the ratios of the rounds, each of the mean of its turns to the mean of the base's. */
function ratioOf(name, base, turns, field) {
  const rounds = [...new Set(turns.map(({ round }) => round))];
  return middleOf(rounds.map((round) => meanOf(name, round) / meanOf(base, round)));

  function meanOf(one, round) {
    const own = turns.filter((turn) => turn.name === one && turn.round === round);
    return mean(own.map((turn) => turn[field]));
  }
}
