// npm run bench: everything, or the parts asked for; see --help.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { namesFor } from './groups.mjs';
import { tool } from './load.mjs';
import { readOptions, sizesOf } from './options.mjs';
import { NoisyMachineError } from './noise.mjs';
import { BenchRedis } from './redis.mjs';
import { printAlgorithms, printGrowth, printHttp, printLongest, printRate, printStore } from './report.mjs';

const RESULTS = new URL('results.json', import.meta.url);

const options = readOptions();
const sizes = (part, platform) => sizesOf(options, part, platform);
const results = before();
say(`seed ${options.seed}`);
const redis = await BenchRedis.start();
const origin = {
  date: new Date().toISOString().slice(0, 10),
  machine: machine(),
  versions: await versions(),
};
try {
  if (options.parts.includes('rate')) await runRate();
  if (options.parts.includes('http')) await runHttp();
  if (options.parts.includes('store')) {
    const { benchStore } = await import('./store.mjs');
    printStore((results.store = await benchStore(redis, sizes('store'), say)));
    const { longestCalls } = await import('./longest-calls.mjs');
    printLongest((results.longestCalls = await longestCalls(redis, say)));
    markMeasured('store');
  }
  if (options.parts.includes('algorithms')) {
    const { benchAlgorithms } = await import('./algorithms.mjs');
    printAlgorithms((results.algorithms = await benchAlgorithms(redis, sizes('algorithms'), say)));
    markMeasured('algorithms');
  }
  if (options.parts.includes('growth')) {
    const { benchGrowth } = await import('./growth.mjs');
    printGrowth((results.growth = await benchGrowth(redis, sizes('growth'), say)));
    markMeasured('growth');
  }
} finally {
  await redis.stop();
}
// a run of few variants or small sizes does not replace the results of a whole one
if (!options.quick && options.only === undefined) {
  writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
  const { fillTables } = await import('./tables.mjs');
  await fillTables(results, say);
}
process.exit(process.exitCode); // clients of the limiters compared have no common way to be closed

async function runRate() {
  const { benchRate } = await import('./rate.mjs');
  results.rate = { ...results.rate };
  for (const platform of options.platforms) {
    const names = namesFor('rate', { ...options, platform });
    try {
      const measured = await benchRate(redis, { ...sizes('rate', platform), platform, names }, say);
      printRate(platform, measured);
      results.rate[platform] = measured;
      markMeasured(`rate ${platform}`);
    } catch (error) {
      // the platform keeps its earlier results, and the other parts run
      if (!(error instanceof NoisyMachineError)) throw error;
      process.exitCode = 1;
      say(`${platform}, results at a fixed rate discarded. ${error.message}`);
    }
  }
}

async function runHttp() {
  const { benchHttp } = await import('./http.mjs');
  results.http = { ...results.http };
  for (const platform of options.platforms) {
    const names = namesFor('http', { ...options, platform });
    const rows = await benchHttp(redis, { ...sizes('http', platform), platform, names }, say);
    printHttp(platform, rows);
    results.http[platform] = rows;
    markMeasured(`http ${platform}`);
  }
}

/** A run of some parts keeps the results of the others, so each part has a date and versions of its own. */
function markMeasured(part) {
  results.measured = { ...results.measured, [part]: origin };
}

function before() {
  try {
    return JSON.parse(readFileSync(RESULTS, 'utf8'));
  } catch {
    return {};
  }
}

function machine() {
  const processors = cpus();
  return { processor: processors[0].model, cores: processors.length };
}

async function versions() {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const own = {
    node: process.version,
    redis: await redis.version(),
    load: tool,
    'nestjs-freq-limit': version,
  };
  return { ...own, ...dependencies };
}

function say(text) {
  console.error(text);
}
