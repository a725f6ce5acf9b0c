// Where an application's time goes under load: node bench/profile.mjs [express|fastify] [variant]
// Prints self time by package, and the functions of ours that take most.
import { VARIANTS } from './apps/variants.mjs';
import { Application } from './child.mjs';
import { load } from './load.mjs';
import { BenchRedis } from './redis.mjs';

const WARM_UP_SECONDS = 4;
const SECONDS = 4;
const MOST = 20;

const [platform = 'express', name = 'ours 5 redis'] = process.argv.slice(2);
const { kind, options } = VARIANTS[name];
const redis = await BenchRedis.start();
try {
  const spec = { kind, options, platform, redisPort: redis.port };
  const application = await Application.start(name, spec);
  await load(application.port, WARM_UP_SECONDS);
  await application.ask('startProfile');
  await load(application.port, SECONDS);
  show(selfTimes(await application.ask('stopProfile')));
  await application.stop();
} finally {
  await redis.stop();
}

function selfTimes({ nodes, samples, timeDeltas }) {
  const times = new Map();
  samples.forEach((id, i) => times.set(id, (times.get(id) ?? 0) + timeDeltas[i]));
  return nodes.map(({ id, callFrame }) => ({
    function: callFrame.functionName || '(anonymous)',
    place: placeOf(callFrame.url),
    line: callFrame.lineNumber + 1,
    time: times.get(id) ?? 0,
  }));
}

/** The package a file belongs to, and the file within it. */
function placeOf(url) {
  const inPackage = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url);
  if (inPackage !== null) return { owner: inPackage[1], file: inPackage[2] };
  if (url.startsWith('node:')) return { owner: 'node', file: url };
  return { owner: url === '' ? 'engine' : 'bench', file: '' };
}

function show(functions) {
  const busy = functions.filter((one) => one.function !== '(idle)' && one.function !== '(root)');
  const total = sum(busy);
  console.log(`${platform}, ${name}: self time in % of busy time`);
  print(
    groups(busy, (one) => one.place.owner),
    total,
  );
  const engine = busy.filter((one) => one.place.owner === 'engine' || one.place.owner === 'node');
  console.log('\nnode and engine');
  print(
    groups(engine, (one) => `${one.function} ${one.place.file}`),
    total,
  );
  const own = busy.filter((one) => one.place.owner === 'nestjs-freq-limit');
  console.log('\nnestjs-freq-limit');
  print(
    groups(own, (one) => `${one.function} ${one.place.file}:${one.line}`),
    total,
  );
  const ioredis = busy.filter((one) => /^ioredis|redis-parser|@ioredis/.test(one.place.owner));
  console.log('\nioredis');
  print(
    groups(ioredis, (one) => `${one.function} ${one.place.file}:${one.line}`),
    total,
  );
}

function groups(functions, nameOf) {
  const found = new Map();
  for (const one of functions) found.set(nameOf(one), (found.get(nameOf(one)) ?? 0) + one.time);
  return [...found].sort(([, a], [, b]) => b - a).slice(0, MOST);
}

function sum(functions) {
  return functions.reduce((total, { time }) => total + time, 0);
}

function print(rows, total) {
  for (const [label, time] of rows) {
    console.log(`${((100 * time) / total).toFixed(2).padStart(6)}  ${label}`);
  }
}
