// Applications under saturation, by a closed loop: what share of the bare application's throughput is left. In blocks and
// rounds as at a fixed rate, see rate.mjs: fresh processes for each block, turns in a random order, ratios within a round.
import { BARE, VARIANTS } from './apps/variants.mjs';
import { Applications } from './child.mjs';
import { groupsOf } from './groups.mjs';
import { load } from './load.mjs';
import { OpenLoop } from './open-loop.mjs';
import { random, shuffled } from './random.mjs';
import { interval, mean, middleOf, short } from './stats.mjs';

// of each variant: the engine has compiled what they share many times over
const WARM_UP_REQUESTS = 4_000;
const TURN_SECONDS = 1;

/** @returns a row for each variant; the ends of its interval are null with fewer than two blocks */
export async function benchHttp(redis, { platform, blocks, rounds, names, seed }, say) {
  const run = { redis, rounds, next: random(seed) };
  const groups = groupsOf(names);
  const measured = [];
  for (let block = 0; block < blocks; block++) {
    say(`${platform}, saturated: block ${block + 1} of ${blocks}`);
    const processes = [];
    try {
      for (const { names: members } of groups) {
        processes.push(await Applications.start(members, { platform, redisPort: redis.port }));
      }
      await warmUp(processes);
      measured.push(await runBlock(run, groups, processes));
    } finally {
      for (const applications of processes) await applications.stop();
    }
  }
  return groups.flatMap((group, i) => {
    const ofGroup = measured.map((turns) => turns.filter(({ group: one }) => one === i));
    // the bare applications of the first group stand for all in the table
    return (i === 0 ? group.names : group.names.slice(2)).map((name) => rowOf(name, ofGroup));
  });
}

async function warmUp(processes) {
  const sender = OpenLoop.start();
  for (const { ports } of processes) {
    for (const port of ports.values()) await sender.rush(port, WARM_UP_REQUESTS);
  }
  sender.stop();
}

async function runBlock({ redis, rounds, next }, groups, processes) {
  const places = groups.flatMap(({ names, bareTurns }, group) => {
    const place = (name) => ({ group, name, applications: processes[group] });
    return [...names.map(place), ...Array.from({ length: bareTurns - 1 }, () => place(BARE))];
  });
  const turns = [];
  for (let round = 0; round < rounds; round++) {
    for (const { group, name, applications } of shuffled(places, next)) {
      turns.push({ group, name, round, ...(await turn(applications, name, redis)) });
    }
  }
  return turns;
}

async function turn(applications, name, redis) {
  const [before, cpuBefore] = [await redis.work(), await applications.ask('usage')];
  const { requests, seconds, p50, p99, refused, broken } = await load(
    applications.ports.get(name),
    TURN_SECONDS,
  );
  const [after, cpuAfter] = [await redis.work(), await applications.ask('usage')];
  return {
    perSecond: requests / seconds,
    p50,
    p99,
    refused: refused / requests,
    broken: broken ?? 0,
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
    refused: middle('refused'),
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
