// Rules of one request: what they cost the process and Redis at a fixed rate, where few requests share a call.
import { Applications } from '../child.mjs';
import { OpenLoop } from '../open-loop.mjs';
import { load } from '../load.mjs';
import { median, short } from '../stats.mjs';

const PER_SECOND = 2000;
const TURN_SECONDS = 1;
const KEY = '{headers.x-client}';

export async function rulesOfRequest(redis, { rounds, quick }, say) {
  const counts = quick ? [0, 5] : [0, 1, 2, 5, 10, 20, 50];
  const sender = OpenLoop.start();
  const applications = [];
  try {
    for (const limits of counts) {
      say(`growth: an application with ${limits} rules`);
      applications.push(await start(redis, limits, quick));
    }
    const turns = counts.map(() => []);
    for (let round = 0; round < rounds; round++) {
      say(`growth: rules of a request, round ${round + 1} of ${rounds}`);
      for (const i of inTurn(counts, round)) {
        turns[i].push(await measure(redis, sender, applications[i]));
      }
    }
    return [section(counts, turns)];
  } finally {
    sender.stop();
    for (const application of applications) await application.stop();
  }
}

async function start(redis, limits, quick) {
  const options = { limits, store: 'redis', key: KEY };
  const name = `${limits} rules`;
  const where = { platform: 'fastify', redisPort: redis.port };
  const application = await Applications.startThese({ [name]: { kind: 'ours', options } }, where);
  application.port = application.ports.get(name);
  await load(application.port, quick ? 1 : 3);
  return application;
}

function inTurn(counts, round) {
  const order = counts.map((_, i) => i);
  return round % 2 ? order.reverse() : order;
}

async function measure(redis, sender, application) {
  const before = await usage(redis, application);
  const turn = { port: application.port, perSecond: PER_SECOND, seconds: TURN_SECONDS, seed: 1 };
  const { requests } = await sender.run(turn);
  const after = await usage(redis, application);
  return Object.fromEntries(
    Object.keys(before).map((name) => [name, (after[name] - before[name]) / requests]),
  );
}

async function usage(redis, application) {
  const { cpuUs: redisUs, calls, bytes } = await redis.work();
  const { cpuUs: processUs } = await application.ask('usage');
  return { processUs, redisUs, calls, bytes };
}

function section(counts, turns) {
  const middle = (i, field) => median(turns[i].map((one) => one[field]));
  // the first application has no rule
  const rows = counts.slice(1).map((count, n) => {
    const processUs = middle(n + 1, 'processUs') - middle(0, 'processUs');
    const redisUs = middle(n + 1, 'redisUs');
    return [
      count,
      processUs,
      redisUs,
      processUs / count,
      redisUs / count,
      middle(n + 1, 'calls'),
      middle(n + 1, 'bytes'),
    ].map(short);
  });
  return {
    id: 'rules',
    title: `Rules of a request, ${PER_SECOND} requests/s, 1000 clients, Fastify; added to an application with the module and no rule`,
    columns: [
      'rules',
      'process µs/request',
      'Redis µs/request',
      'process µs/rule',
      'Redis µs/rule',
      'calls/request',
      'network bytes/request',
    ],
    rows,
  };
}
