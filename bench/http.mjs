// Whole applications under load: rounds in which each has one turn, so that all meet the same machine.
import { BARE, VARIANTS } from './apps/variants.mjs';
import { Application } from './child.mjs';
import { load } from './load.mjs';
import { mean, median, short } from './stats.mjs';

// so many that the engine has compiled what it will, in each application alike; but no longer than this
const WARM_UP_REQUESTS = 15_000;
const WARM_UP_SECONDS = 8;

/** @returns a row of medians for each variant */
export async function benchHttp(redis, { platform, rounds, seconds, only, quick, against }, say) {
  const names = Object.keys(VARIANTS).filter(
    (name) => isWanted(name, only, quick) && (against !== undefined || VARIANTS[name].against !== true),
  );
  // what has more turns than others is warmer than they: the bare application is several, so that each has one a round
  const applications = new Map(names.map((name) => [name, []]));
  try {
    for (const name of orderOf(names, 0)) {
      const { kind, options } = VARIANTS[name];
      const spec = { kind, options, platform, redisPort: redis.port };
      applications.get(name).push(await Application.start(name, spec));
    }
    for (const { port } of [...applications.values()].flat()) await warmUp(port);
    const turns = new Map(names.map((name) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      say(`${platform}: round ${round + 1} of ${rounds}`);
      for (const name of orderOf(names, round)) {
        const [application, ...others] = applications.get(name);
        applications.set(name, [...others, application]);
        turns.get(name).push({ round, ...(await turn(application, redis, seconds)) });
      }
    }
    return names.map((name) => summary(name, turns));
  } finally {
    for (const application of [...applications.values()].flat()) await application.stop();
  }
}

async function warmUp(port) {
  let requests = 0;
  for (let second = 0; second < WARM_UP_SECONDS && requests < WARM_UP_REQUESTS; second++) {
    requests += (await load(port, 1)).requests;
  }
}

function isWanted(name, only, quick) {
  if (name === BARE) return true;
  if (only === undefined) return !quick || VARIANTS[name].quick === true;
  const isSelected = (one) => only.some((text) => (text in VARIANTS ? one === text : one.includes(text)));
  // the base of a selected variant, for its ratios
  const isBase = Object.keys(VARIANTS).some((one) => VARIANTS[one].base === name && isSelected(one));
  return isSelected(name) || isBase;
}

/** Forwards and backwards in turn; the bare application, to which all are held, at both ends and in the middle. */
function orderOf(names, round) {
  const others = names.filter((name) => name !== BARE);
  if (round % 2) others.reverse();
  const half = others.length >> 1;
  return [BARE, ...others.slice(0, half), BARE, ...others.slice(half), BARE];
}

async function turn(application, redis, seconds) {
  const [before, cpuBefore] = [await redis.work(), await application.ask('cpuUs')];
  const { requests, seconds: took, p50, p99, refused, broken } = await load(application.port, seconds);
  const [after, cpuAfter] = [await redis.work(), await application.ask('cpuUs')];
  return {
    perSecond: requests / took,
    p50,
    p99,
    refused: refused / requests,
    broken: broken ?? 0,
    appCpuUs: (cpuAfter - cpuBefore) / requests,
    redisCpuUs: (after.cpuUs - before.cpuUs) / requests,
    calls: (after.calls - before.calls) / requests,
  };
}

function summary(name, turns) {
  const base = VARIANTS[name].base ?? BARE;
  const own = turns.get(name);
  const ratio = (field) =>
    own.map(({ round, [field]: value }) => {
      const bases = turns.get(base).filter((one) => one.round === round);
      return value / mean(bases.map((one) => one[field]));
    });
  const middle = (field) => short(median(own.map((one) => one[field])));
  const throughput = ratio('perSecond');
  return {
    name,
    base,
    throughput: short(median(throughput)),
    from: short(Math.min(...throughput)),
    to: short(Math.max(...throughput)),
    appCpu: short(median(ratio('appCpuUs'))),
    p50: short(median(ratio('p50'))),
    p99: short(median(ratio('p99'))),
    p50Ms: middle('p50'),
    p99Ms: middle('p99'),
    redisCpuUs: middle('redisCpuUs'),
    calls: middle('calls'),
    refused: middle('refused'),
    broken: own.reduce((sum, one) => sum + one.broken, 0),
  };
}
