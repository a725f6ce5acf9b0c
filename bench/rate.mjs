// What a limiter adds to a request, at a fixed rate of requests, below the saturation of all.
//
// A block is a fresh set of processes, one for each group of variants. A round has a short turn of each variant, in a
// random order, so that all meet the same machine; its requests come at the same times in each. A block gives one value
// for each variant, so that an interval over the blocks takes both into account: how processes differ, and how turns do.
import { BARE } from './apps/variants.mjs';
import { Applications } from './child.mjs';
import { groupsOf } from './groups.mjs';
import { requireQuiet } from './noise.mjs';
import { OpenLoop } from './open-loop.mjs';
import { random, shuffled } from './random.mjs';
import { goalsOf } from './rate-goals.mjs';
import { blockOf, rowsOf } from './rate-rows.mjs';

const MAX_PER_SECOND = 4_000;
const WARM_UP_REQUESTS = 3_000;
// of counting what a variant allocates, in each block
const ALLOCATION_SECONDS = 0.25;
// a turn is repeated once when the sender itself was later than this, at p99
const MAX_LATE_MS = 2;

/**
 * @returns rows: what each variant adds to the bare application of its own process; goals: the figures of the project's
 * goals; groups: the rate and the bare applications of each process
 */
export async function benchRate(redis, { platform, blocks, rounds, seconds, names, rate, seed }, say) {
  const run = {
    ...{ redis, platform, rounds, seconds, say, randomNumber: random(seed) },
    ...{ retaken: 0, late: 0, turns: 0 },
  };
  let groups = groupsOf(names).map((group) => ({ ...group, perSecond: rate }));
  const measured = [];
  for (let block = 0; block < blocks; block++) {
    say(`${platform}: block ${block + 1} of ${blocks}`);
    const started = await startAll(run, groups);
    if (block === 0 && rate === undefined) {
      groups = groups.map((group, i) => withRate(group, started.slowest[i], say));
    }
    measured.push(await runBlock(run, groups, started));
  }
  const perSecond = groups[0].perSecond;
  const { retaken, late, turns } = run;
  const result = {
    ...{ perSecond, blocks, rounds, seconds, seed },
    sender: { turns, retaken, late, maxLateMs: MAX_LATE_MS },
    ...rowsOf(groups, measured),
    goals: goalsOf(measured),
  };
  requireQuiet(result.groups);
  return result;
}

/**
 * At most half of what the slowest of the group can do: beyond that, waiting is measured. Each group has its own rate,
 * because the slowest peer would else choose a rate far below the one of the goals for all; each row says its rate.
 */
function withRate(group, slowest, say) {
  const perSecond = Math.min(MAX_PER_SECOND, Math.max(1, Math.floor(slowest / 200)) * 100);
  say(`${group.name}: ${perSecond} requests/s (the slowest can do ${Math.round(slowest)})`);
  return { ...group, perSecond };
}

/** @returns the processes of a block, warm; and, if its rate is not known yet, what the slowest variant of each can do */
async function startAll({ redis, platform }, groups) {
  const sender = OpenLoop.start();
  const processes = [];
  const slowest = [];
  for (const { names, perSecond } of groups) {
    const applications = await Applications.start(names, { platform, redisPort: redis.port });
    processes.push(applications);
    const ports = [...applications.ports.values()];
    for (const port of ports) await sender.rush(port, WARM_UP_REQUESTS);
    if (perSecond === undefined) slowest.push(await slowestOf(sender, ports));
  }
  return { sender, processes, slowest };
}

async function slowestOf(sender, ports) {
  let slowest = Infinity;
  for (const port of ports) {
    // the better of two: another program may have disturbed one
    const once = await sender.rush(port, WARM_UP_REQUESTS);
    const again = await sender.rush(port, WARM_UP_REQUESTS);
    slowest = Math.min(slowest, Math.max(once, again));
  }
  return slowest;
}

/** @returns for each group, the values of its variants */
async function runBlock(run, groups, { sender, processes }) {
  try {
    const entries = groups.flatMap(({ names, bareTurns, perSecond }, i) => {
      const entry = (name, set) => ({ group: i, name, set, perSecond, applications: processes[i] });
      const bare = Array.from({ length: bareTurns - 1 }, (_, more) => entry(BARE, more + 1));
      return [...names.map((name) => entry(name, 0)), ...bare];
    });
    const turns = [];
    for (let round = 0; round < run.rounds; round++) {
      const seed = Math.floor(run.randomNumber() * 2 ** 32);
      for (const entry of shuffled(entries, run.randomNumber)) {
        turns.push({ ...entry, round, ...(await punctualTurn(run, sender, entry, seed)) });
      }
    }
    const garbage = await allocations(run, sender, groups, processes);
    return groups.map(({ names }, i) =>
      blockOf(
        names,
        turns.filter(({ group }) => group === i),
        garbage[i],
      ),
    );
  } finally {
    sender.stop();
    for (const applications of processes) await applications.stop();
  }
}

/** A turn; when the sender was late, once more: the latencies would be its own. */
async function punctualTurn(run, sender, entry, seed) {
  run.turns++;
  const first = await turn(run, sender, entry, seed);
  if (first.lateMs <= MAX_LATE_MS) return first;
  run.retaken++;
  const second = await turn(run, sender, entry, seed);
  if (second.lateMs > MAX_LATE_MS) run.late++;
  return second;
}

async function turn({ redis, seconds }, sender, { name, applications, perSecond }, seed) {
  const before = await usage(applications, redis);
  const sent = await sender.run({ port: applications.ports.get(name), perSecond, seconds, seed });
  const after = await usage(applications, redis);
  const each = (field) => (after[field] - before[field]) / sent.requests;
  return {
    cpuUs: each('cpuUs'),
    gcUs: each('gcUs'),
    redisUs: each('redisUs'),
    calls: each('calls'),
    p50Ms: sent.p50,
    p99Ms: sent.p99,
    denied: sent.denied / sent.requests,
    lateMs: sent.lateMs,
  };
}

async function usage(applications, redis) {
  const { cpuUs: redisUs, calls } = await redis.work();
  return { ...(await applications.ask('usage')), redisUs, calls };
}

/**
 * @returns for each group, a map of the kilobytes that each variant allocates per request; after the turns, because
 * counting them takes time
 */
async function allocations({ randomNumber }, sender, groups, processes) {
  const found = groups.map(() => new Map());
  for (const [i, { names, perSecond }] of groups.entries()) {
    for (const name of shuffled(names, randomNumber)) {
      const load = { port: processes[i].ports.get(name), perSecond, seconds: ALLOCATION_SECONDS, seed: 1 };
      await processes[i].ask('startAllocations');
      const { requests } = await sender.run(load);
      found[i].set(name, (await processes[i].ask('stopAllocations')) / requests / 1000);
    }
  }
  return found;
}
