// Rules of a request: their cost at a fixed rate, with a Redis call for each request, and with shared calls.
import { Applications } from '../child.mjs';
import { OpenLoop } from '../open-loop.mjs';
import { load } from '../load.mjs';
import { median, short } from '../stats.mjs';

const PER_SECOND = 2000;
const TURN_SECONDS = 1;
const WARM_UP_SECONDS = 1;
const KEY = '{headers.x-client}';
const NO_RULE = 'no rule';

const COLUMNS = [
  'rules',
  'Redis µs/request, own call',
  'Redis µs/rule, own call',
  'network bytes/request, own call',
  'Redis µs/request',
  'calls/request',
  'process µs/request',
  'process µs/rule',
];

export async function rulesOfRequest(redis, { rounds, quick }, say) {
  const counts = quick ? [5] : [1, 2, 5, 10, 20, 50];
  const variants = variantsOf(counts);
  const sender = OpenLoop.start();
  // all in one process: a process differs from the next by more than a rule costs
  const applications = await Applications.startThese(variants, {
    platform: 'fastify',
    redisPort: redis.port,
  });
  try {
    for (const port of applications.ports.values()) await load(port, WARM_UP_SECONDS);
    const turns = await turnsOf(Object.keys(variants), rounds, { redis, sender, applications }, say);
    return [section(counts, turns)];
  } finally {
    sender.stop();
    await applications.stop();
  }
}

const shared = (count) => `${count}`;
const alone = (count) => `${count}, coalesce: false`;

/** By name, two applications for each number of rules, and one without rules. */
function variantsOf(counts) {
  const variants = { [NO_RULE]: ours(0) };
  for (const count of counts) {
    variants[shared(count)] = ours(count);
    variants[alone(count)] = ours(count, { coalesce: false });
  }
  return variants;
}

function ours(limits, more) {
  return { kind: 'ours', options: { limits, store: 'redis', key: KEY, ...more } };
}

/** @returns by name of the application, the costs of each turn */
async function turnsOf(names, rounds, bench, say) {
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    say(`growth: rules of a request, round ${round + 1} of ${rounds}`);
    for (const name of round % 2 ? names.toReversed() : names) turns[name].push(await measure(name, bench));
  }
  return turns;
}

async function measure(name, { redis, sender, applications }) {
  const before = await usage(redis, applications);
  const port = applications.ports.get(name);
  const { requests } = await sender.run({ port, perSecond: PER_SECOND, seconds: TURN_SECONDS, seed: 1 });
  const after = await usage(redis, applications);
  return Object.fromEntries(
    Object.keys(before).map((field) => [field, (after[field] - before[field]) / requests]),
  );
}

async function usage(redis, applications) {
  const { cpuUs: redisUs, calls, bytes } = await redis.work();
  const { cpuUs: processUs } = await applications.ask('usage');
  return { processUs, redisUs, calls, bytes };
}

function section(counts, turns) {
  return {
    id: 'rules',
    title:
      `Rules of a request, ${PER_SECOND} requests/s, 1000 clients, Fastify. Of the process: the difference to the application ` +
      'with the module and no rule',
    columns: COLUMNS,
    rows: counts.map((count) => rowOf(count, turns)),
  };
}

function rowOf(count, turns) {
  const middle = (name, field) => median(turns[name].map((one) => one[field]));
  const aloneUs = middle(alone(count), 'redisUs');
  const processUs = middle(shared(count), 'processUs') - middle(NO_RULE, 'processUs');
  return [
    count,
    aloneUs,
    aloneUs / count,
    middle(alone(count), 'bytes'),
    middle(shared(count), 'redisUs'),
    middle(shared(count), 'calls'),
    processUs,
    processUs / count,
  ].map(short);
}
