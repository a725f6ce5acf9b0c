// npm run bench: everything, or the parts asked for; see --help.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { namesFor } from './groups.mjs';
import { tool } from './load.mjs';
import { readOptions, sizesOf } from './options.mjs';
import { NoisyMachineError } from './rate-rows.mjs';
import { BenchRedis } from './redis.mjs';
import { printGrowth, printHttp, printRate, printStore } from './report.mjs';

const RESULTS = new URL('results.json', import.meta.url);

const options = readOptions();
const sizes = (part, platform) => sizesOf(options, part, platform);
const results = {
  ...before(),
  date: new Date().toISOString().slice(0, 10),
  machine: machine(),
  versions: versions(),
};
say(`seed ${options.seed}`);
const redis = await BenchRedis.start();
try {
  results.versions.redis = await redis.version();
  if (options.parts.includes('rate')) await runRate();
  if (options.parts.includes('http')) await runHttp();
  if (options.parts.includes('store')) {
    const { benchStore } = await import('./store.mjs');
    printStore((results.store = await benchStore(redis, sizes('store'), say)));
  }
  if (options.parts.includes('growth')) {
    const { benchGrowth } = await import('./growth.mjs');
    printGrowth((results.growth = await benchGrowth(redis, sizes('growth'), say)));
  }
} finally {
  await redis.stop();
}
if (!options.quick) {
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
    } catch (error) {
      // of a machine that was too noisy: no figure is shown or kept, but the other parts are still of use
      if (!(error instanceof NoisyMachineError)) throw error;
      delete results.rate[platform];
      process.exitCode = 1;
      say(error.message);
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
    // of a run of some variants, the others keep what they had
    const measured = new Set(rows.map((row) => row.name));
    const kept = (options.only && results.http[platform]?.filter((row) => !measured.has(row.name))) ?? [];
    results.http[platform] = [...rows, ...kept];
  }
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

function versions() {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return { node: process.version, load: tool, 'nestjs-freq-limit': version, ...dependencies };
}

function say(text) {
  console.error(text);
}
