// Applications under saturation, by a closed loop: what share of the bare application's throughput is left. In blocks and
// rounds as at a fixed rate, see rate.mjs: fresh processes for each block, turns in a random order, ratios within a round.
//
// But each application has a process of its own. In a shared one, the engine compiles the code of Nest for many
// applications; that makes the bare one slower (some 2 µs of 14) and the others hardly, which would flatter them here.
import { BARE, BARE_AGAIN, VARIANTS } from './apps/variants.mjs';
import { Applications } from './child.mjs';
import { load } from './load.mjs';
import { OpenLoop } from './open-loop.mjs';
import { random, shuffled } from './random.mjs';
import { interval, mean, middleOf, short } from './stats.mjs';

const WARM_UP_REQUESTS = 15_000;
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

/** Enough requests for the engine to compile the code of each process. */
async function warmUp(processes) {
  const sender = OpenLoop.start();
  for (const { name, applications } of processes) {
    await sender.rush(applications.ports.get(name), WARM_UP_REQUESTS);
  }
  sender.stop();
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
  const ratio = (field) => interval(blocks.map((turns) => ratioOf(name, base, turns, field)));
  const middle = (field) => short(middleOf(own.map((turn) => turn[field])));
  const throughput = ratio('perSecond');
  return {
    name,
    base,
    throughput: short(throughput.mean),
    from: short(throughput.from),
    to: short(throughput.to),
    appCpu: short(ratio('appCpuUs').mean),
    p50: short(ratio('p50').mean),
    p99: short(ratio('p99').mean),
    p50Ms: middle('p50'),
    p99Ms: middle('p99'),
    redisCpuUs: middle('redisCpuUs'),
    calls: middle('calls'),
    denied: middle('denied'),
    broken: own.reduce((sum, turn) => sum + turn.broken, 0),
  };
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
