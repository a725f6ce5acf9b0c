// What a limiter adds to a request, at a fixed rate of requests. Each block starts all applications afresh, because one
// process of the same application differs from the next; in a block they take turns. A block gives one value for each
// variant, so the interval over the blocks is that of independent measurements.
import { AT_FIXED_RATE, BARE, VARIANTS } from './apps/variants.mjs';
import { Application } from './child.mjs';
import { load } from './load.mjs';
import { OpenLoop } from './open-loop.mjs';
import { interval, mean, short } from './stats.mjs';

const WARM_UP_SECONDS = 3;
const MAX_PER_SECOND = 4_000;
const BARE_AGAIN = 'bare again';

const FIELDS = ['cpuUs', 'gcUs', 'p50Ms', 'p99Ms'];

/** The variants to measure; the bare application is always among them, twice. */
export function rateNames({ only, against }) {
  return AT_FIXED_RATE.filter((name) => {
    if (VARIANTS[name].against === true && against === undefined) return false;
    return only === undefined || name === BARE || name === BARE_AGAIN || only.includes(name);
  });
}

/** @returns {{ perSecond: number, blocks: number, rows: object[] }} what each variant adds to the bare application */
export async function benchRate(redis, { platform, blocks, rounds, seconds, names, rate: perSecond }, say) {
  const sender = OpenLoop.start();
  try {
    const rate = perSecond ?? (await halfOfSlowest(redis, platform, names, say));
    const measured = [];
    for (let block = 0; block < blocks; block++) {
      say(`${platform}, ${rate} requests/s: block ${block + 1} of ${blocks}`);
      measured.push(await runBlock(redis, sender, { platform, names, rounds, seconds, rate, block }));
    }
    const rows = names.map((name) => rowOf(name, measured));
    requireQuiet(rows.find(({ name }) => name === BARE_AGAIN));
    return { perSecond: rate, blocks, rounds, seconds, rows };
  } finally {
    sender.stop();
  }
}

/** A rate at which no variant is saturated. */
async function halfOfSlowest(redis, platform, names, say) {
  let slowest = 2 * MAX_PER_SECOND;
  for (const name of names) {
    const application = await start(redis, platform, name);
    await load(application.port, WARM_UP_SECONDS);
    const { requests, seconds } = await load(application.port, 2);
    await application.stop();
    slowest = Math.min(slowest, requests / seconds);
    say(`${platform}: ${name}: at most ${Math.round(requests / seconds)} requests/s`);
  }
  return Math.floor(slowest / 2 / 100) * 100;
}

function start(redis, platform, name) {
  const { kind, options } = VARIANTS[name];
  return Application.start(name, { kind, options, platform, redisPort: redis.port });
}

/** @returns a map of the means of each variant, as differences to the bare application */
async function runBlock(redis, sender, { platform, names, rounds, seconds, rate, block }) {
  const applications = new Map();
  try {
    for (const name of rotated(names, block)) applications.set(name, await start(redis, platform, name));
    for (const { port } of applications.values()) await load(port, WARM_UP_SECONDS);
    const turns = new Map(names.map((name) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      const order = rotated(names, block * rounds + round);
      if (round % 2) order.reverse();
      for (const name of order) {
        turns.get(name).push(await turn(applications.get(name), redis, sender, rate, seconds));
      }
    }
    return new Map(names.map((name) => [name, meansOf(turns.get(name))]));
  } finally {
    for (const application of applications.values()) await application.stop();
  }
}

/** So that no variant is always first, or always after the same one. */
function rotated(names, by) {
  const at = (by * 7) % names.length;
  return [...names.slice(at), ...names.slice(0, at)];
}

async function turn(application, redis, sender, rate, seconds) {
  const before = await usage(application, redis);
  const { requests, p50, p99, denied } = await sender.run({
    port: application.port,
    perSecond: rate,
    seconds,
  });
  const after = await usage(application, redis);
  const each = (field) => (after[field] - before[field]) / requests;
  return {
    cpuUs: each('cpuUs'),
    gcUs: each('gcUs'),
    redisUs: each('redisUs'),
    calls: each('calls'),
    p50Ms: p50,
    p99Ms: p99,
    denied: denied / requests,
  };
}

async function usage(application, redis) {
  const { cpuUs: redisUs, calls } = await redis.work();
  return { cpuUs: await application.ask('cpuUs'), gcUs: await application.ask('gcUs'), redisUs, calls };
}

function meansOf(turns) {
  return Object.fromEntries(
    Object.keys(turns[0]).map((field) => [field, mean(turns.map((one) => one[field]))]),
  );
}

function rowOf(name, blocks) {
  const row = { name };
  for (const field of FIELDS) {
    row[field] = rounded(interval(blocks.map((block) => block.get(name)[field] - block.get(BARE)[field])));
  }
  for (const field of ['redisUs', 'calls', 'denied']) {
    row[field] = short(mean(blocks.map((block) => block.get(name)[field])));
  }
  row.totalCpuUs = short(mean(blocks.map((block) => block.get(name).cpuUs)));
  return row;
}

function rounded({ mean: middle, from, to }) {
  const digits = (value) => Number(value.toFixed(3));
  return { mean: digits(middle), from: digits(from), to: digits(to) };
}

/** Measured twice, the same application must not differ: else the machine was not quiet enough for any other row. */
function requireQuiet({ cpuUs: { from, to } }) {
  if (from <= 0 && to >= 0) return;
  throw new Error(
    `The bare application, measured twice, differs from itself by ${from} to ${to} µs of CPU per request. ` +
      'The machine is too noisy for these figures: stop other programs, or take more blocks (--blocks).',
  );
}
