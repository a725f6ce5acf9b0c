// What a check costs Redis, by the kind of its counter, compared to a minimal script.
import { setTimeout as sleep } from 'node:timers/promises';
import { turnsOf } from '../race.mjs';
import { random, shuffled } from '../random.mjs';
import { costRow } from './cost-row.mjs';
import { minimalCalls } from './minimal-script.mjs';
import { Recorder } from './recorded-calls.mjs';
import { FIXED, MINIMAL, requestsOf, SIZES, SUB_WINDOW_SECONDS, VARIANTS, variantsOf } from './variants.mjs';

// of Redis: it is emptied before each turn that creates counters
const DATABASE = 1;

/** @returns {{ checks: number, rows: object[] }[]} by checks of a call */
export async function kindsOfCounter(redis, { blocks, rounds, quick, seed }, say) {
  const sections = [];
  for (const size of quick ? SIZES.slice(1, 2) : SIZES) {
    say(`kinds of counter: ${size.checks} checks a call`);
    await redis.control.flushall();
    const { runners, bytes, close } = await openRunners(redis, size, seed);
    const turns = await turnsOf(runners, size.checks, blocks * rounds, redis);
    await close();
    sections.push({ checks: size.checks, rows: rowsOf(turns, bytes, blocks) });
  }
  return sections;
}

/** @returns by name, the runners; and the bytes of a counter, if all have one kind */
async function openRunners(redis, size, seed) {
  const existing = await Recorder.open(redis.port);
  const created = await Recorder.open(redis.port, DATABASE);
  const variants = variantsOf(size).map((one) => ({ ...one, requests: requestsOf(one, size) }));
  await createAll(existing, variants, seed);
  const runners = {};
  const bytes = {};
  for (const { name, state, rules, requests } of variants) {
    const recorder = state === 'new' ? created : existing;
    const recorded = await recorder.record(requests, state !== 'denied');
    const calls = name === MINIMAL ? await minimalCalls(existing.client, recorded) : recorded;
    const run = () => recorder.replay(calls, size.inFlight);
    runners[name] = state === 'new' ? fresh(run, created.client) : state === 'next' ? spaced(run) : run;
    if (rules.length === 1) bytes[name] = await recorder.bytesOf(calls);
  }
  return { runners, bytes, close: () => Promise.all([existing.close(), created.close()]) };
}

/**
 * Creates the counters of all variants in a random order: where they are in the memory of Redis makes a difference of some
 * percent.
 */
async function createAll(recorder, variants, seed) {
  const requests = variants.filter(({ state }) => state !== 'new').flatMap((one) => one.requests);
  await recorder.send(shuffled(requests, random(seed)));
}

/** No counter exists when a turn begins. */
export function fresh(run, client) {
  return Object.assign(() => run(), { prepare: () => client.flushdb('ASYNC') });
}

/** All counters were charged in an earlier sub-window when a turn begins. */
function spaced(run) {
  let endMs = -Infinity;
  const runLater = async () => {
    const latencies = await run();
    endMs = performance.now();
    return latencies;
  };
  const prepare = () => sleep(Math.max(0, endMs + 1000 * SUB_WINDOW_SECONDS - performance.now()));
  return Object.assign(runLater, { prepare });
}

function rowsOf(turns, bytes, blocks) {
  return Object.entries(turns).map(([name, own]) => {
    const fixed = turns[`${FIXED}, ${VARIANTS[name].state}`] ?? turns[`${FIXED}, passes`];
    return { name, bytes: bytes[name], ...costRow({ own, minimal: turns[MINIMAL], fixed, blocks }) };
  });
}
