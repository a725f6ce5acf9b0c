// What a request pays for a settled cost and for a lease: applications in one process, in turns, at a fixed rate. Calls are
// shared, as the default is.
import { Applications } from '../child.mjs';
import { load } from '../load.mjs';
import { OpenLoop } from '../open-loop.mjs';
import { APPLICATIONS, BEFORE, NO_RULE } from './applications.mjs';
import { intervalOfBlocks } from './blocks.mjs';

const PER_SECOND = 2000;
const TURN_SECONDS = 0.5;
const WARM_UP_SECONDS = 1;
const FIELDS = ['processUs', 'redisUs', 'calls'];

/** @returns {{ perSecond: number, rows: object[] }} what each application adds to the one without a rule, per request */
export async function requestsWithSettlements(redis, { blocks, rounds, against }, say) {
  const variants = { ...APPLICATIONS, ...(against !== undefined && BEFORE) };
  const turns = [];
  for (let block = 0; block < blocks; block++) {
    say(`requests with leases and settlements: block ${block + 1} of ${blocks}`);
    turns.push(...(await runBlock(redis, variants, rounds)));
  }
  const names = Object.keys(variants).filter((name) => name !== NO_RULE);
  return { perSecond: PER_SECOND, rows: names.map((name) => rowOf(name, turns, blocks)) };
}

/** @returns for each round, by name, what a request cost */
async function runBlock(redis, variants, rounds) {
  const sender = OpenLoop.start();
  // two processes differ by more than a settlement costs
  const applications = await Applications.startThese(variants, {
    platform: 'fastify',
    redisPort: redis.port,
  });
  try {
    for (const port of applications.ports.values()) await load(port, WARM_UP_SECONDS);
    const names = Object.keys(variants);
    const turns = [];
    for (let round = 0; round < rounds; round++) {
      const costs = {};
      for (const name of round % 2 ? names.toReversed() : names)
        costs[name] = await measure(name, { redis, sender, applications, seed: round + 1 });
      turns.push(costs);
    }
    return turns;
  } finally {
    sender.stop();
    await applications.stop();
  }
}

async function measure(name, { redis, sender, applications, seed }) {
  const before = await usage(redis, applications);
  const port = applications.ports.get(name);
  const { requests } = await sender.run({ port, perSecond: PER_SECOND, seconds: TURN_SECONDS, seed });
  const after = await usage(redis, applications);
  return Object.fromEntries(FIELDS.map((field) => [field, (after[field] - before[field]) / requests]));
}

async function usage(redis, applications) {
  const { cpuUs: redisUs, calls } = await redis.work();
  const { cpuUs: processUs } = await applications.ask('usage');
  return { processUs, redisUs, calls };
}

function rowOf(name, turns, blocks) {
  const added = (field) =>
    intervalOfBlocks(
      turns.map((costs) => costs[name][field] - costs[NO_RULE][field]),
      blocks,
    );
  return { name, ...Object.fromEntries(FIELDS.map((field) => [field, added(field)])) };
}
