// Where an application's time goes: node bench/profile.mjs [express|fastify] [variant] [--rate requests/s]
// Saturated, or at a fixed rate. Prints the time of our own code, of garbage collection, and the bytes per request; then
// self time by package, and the functions that take most.
import { parseArgs } from 'node:util';
import { VARIANTS } from './apps/variants.mjs';
import { Applications } from './child.mjs';
import { load } from './load.mjs';
import { OpenLoop } from './open-loop.mjs';
import { BenchRedis } from './redis.mjs';

const OURS = /^nestjs-freq-limit/;
const WARM_UP_REQUESTS = 40_000;
const SECONDS = 4;
const MOST = 20;

const { positionals, values } = parseArgs({ allowPositionals: true, options: { rate: { type: 'string' } } });
const [platform = 'express', name = 'ours 5 redis'] = positionals;
if (VARIANTS[name] === undefined) {
  console.error(`"${name}" is not a variant. There are:\n  ${Object.keys(VARIANTS).join('\n  ')}`);
  process.exit(1);
}
const perSecond = values.rate && Number(values.rate);
const redis = await BenchRedis.start();
const sender = OpenLoop.start();
try {
  const applications = await Applications.start([name], { platform, redisPort: redis.port });
  const port = applications.ports.get(name);
  await sender.rush(port, WARM_UP_REQUESTS);
  await applications.ask('startProfile');
  const before = await applications.ask('usage');
  const { requests } = await run(port);
  const after = await applications.ask('usage');
  const functions = selfTimes(await applications.ask('stopProfile'));
  // apart from the profile, because counting bytes takes time
  await applications.ask('startAllocations');
  const counted = await run(port);
  const bytes = await applications.ask('stopAllocations');
  show(functions);
  showEach(functions, {
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    gcUs: (after.gcUs - before.gcUs) / requests,
    bytes: bytes / counted.requests,
    requests,
  });
  await applications.stop();
} finally {
  sender.stop();
  await redis.stop();
}

function run(port) {
  if (perSecond === undefined) return load(port, SECONDS);
  return sender.run({ port, perSecond, seconds: SECONDS, seed: 1 });
}

/** In a form that goes into a table of before and after. */
function showEach(functions, { cpuUs, gcUs, bytes, requests }) {
  const busy = functions.filter(isBusy);
  const own = sum(busy.filter((one) => OURS.test(one.place.owner)));
  const at = perSecond === undefined ? 'saturated' : `at ${perSecond} requests/s`;
  console.log(`\n${platform}, ${name}, ${at}, per request`);
  const rows = [
    ['own code, µs', (own / requests).toFixed(2)],
    ['own code, % of the busy time', ((100 * own) / sum(busy)).toFixed(1)],
    ['busy time of the main thread, µs', (sum(busy) / requests).toFixed(2)],
    ['CPU of the process, µs', cpuUs.toFixed(2)],
    ['garbage collection, µs', gcUs.toFixed(2)],
    ['garbage, bytes', bytes.toFixed(0)],
    ['requests', String(requests)],
  ];
  for (const [label, value] of rows) console.log(`  ${label.padEnd(34)}${value.padStart(9)}`);
}

function isBusy({ function: called }) {
  return called !== '(idle)' && called !== '(root)';
}

function selfTimes({ nodes, samples, timeDeltas }) {
  const times = new Map();
  samples.forEach((id, i) => times.set(id, (times.get(id) ?? 0) + timeDeltas[i]));
  return nodes.map(({ id, callFrame }) => ({
    function: callFrame.functionName || '(anonymous)',
    place: packageOf(callFrame.url),
    line: callFrame.lineNumber + 1,
    time: times.get(id) ?? 0,
  }));
}

/** The package a file belongs to, and the file within it. */
function packageOf(url) {
  const inPackage = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url);
  if (inPackage !== null) return { owner: inPackage[1], file: inPackage[2] };
  if (url.startsWith('node:')) return { owner: 'node', file: url };
  return { owner: url === '' ? 'engine' : 'bench', file: '' };
}

function show(functions) {
  const busy = functions.filter(isBusy);
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
  const own = busy.filter((one) => OURS.test(one.place.owner));
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
