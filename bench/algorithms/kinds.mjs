// What a check costs Redis, by the kind of its counter, compared to a minimal script.
import { setTimeout as sleep } from 'node:timers/promises';
import { ratios, turnsOf } from '../race.mjs';
import { intervalOfBlocks } from './blocks.mjs';
import { Recorder } from './recorded-calls.mjs';
import {
  FIXED,
  HOUR,
  MINIMAL,
  requestsOf,
  SIZES,
  SUB_WINDOW_SECONDS,
  VARIANTS,
  variantsOf,
} from './variants.mjs';

// of Redis: it is emptied before each turn that creates counters
const DATABASE = 1;
const OPEN_FIXED = `${FIXED}, passes`;

const MINIMAL_SCRIPT = `
local call, reply = redis.call, {}
for i = 1, #KEYS do
  reply[2 * i - 1], reply[2 * i] = call('INCR', KEYS[i]), call('PTTL', KEYS[i])
end
return reply`;

/** @returns {{ checks: number, rows: object[] }[]} by checks of a call */
export async function kindsOfCounter(redis, { blocks, rounds, quick }, say) {
  const sections = [];
  for (const size of quick ? SIZES.slice(1, 2) : SIZES) {
    say(`kinds of counter: ${size.checks} checks a call`);
    await redis.control.flushall();
    const { runners, bytes, close } = await openRunners(redis, size);
    const turns = await turnsOf(runners, size.checks, blocks * rounds, redis);
    await close();
    sections.push({ checks: size.checks, rows: rowsOf(turns, bytes, blocks) });
  }
  return sections;
}

/** @returns by name, the runners, the minimal script first; and the bytes of a counter */
async function openRunners(redis, size) {
  const existing = await Recorder.open(redis.port);
  const created = await Recorder.open(redis.port, DATABASE);
  const runners = {};
  const bytes = {};
  for (const { name, state, rules } of variantsOf(size)) {
    const recorder = state === 'new' ? created : existing;
    const calls = await recorder.record(requestsOf(name, rules, size), state !== 'denied');
    bytes[name] = await recorder.bytesOf(calls);
    if (name === OPEN_FIXED) runners[MINIMAL] = await minimalRunner(recorder, calls, size);
    const run = () => recorder.replay(calls, size.inFlight);
    runners[name] = state === 'new' ? fresh(run, created.client) : state === 'next' ? spaced(run) : run;
  }
  return { runners, bytes, close: () => Promise.all([existing.close(), created.close()]) };
}

/** No counter exists when a turn begins. */
function fresh(run, client) {
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

/** Its keys are as long as ours, because the length has a cost. */
async function minimalRunner(recorder, recorded, { inFlight }) {
  const { client } = recorder;
  const sha1 = await client.script('LOAD', MINIMAL_SCRIPT);
  const calls = recorded.map(([, count, ...rest]) => {
    const keys = rest.slice(0, count).map((key) => key.replace('service', 'minimal'));
    return [sha1, count, ...keys];
  });
  const pipeline = client.pipeline();
  for (const key of calls.flatMap((call) => call.slice(2))) pipeline.set(key, 0, 'EX', HOUR);
  await pipeline.exec();
  return () => recorder.replay(calls, inFlight);
}

/** `cpu` and `script` are ratios to the minimal script, `cpuToFixed` to the fixed window in the same state. */
function rowsOf(turns, bytes, blocks) {
  const of = (values) => intervalOfBlocks(values, blocks);
  const all = (own, field) => of(own.map((one) => one[field]));
  return Object.entries(turns).map(([name, own]) => {
    const state = VARIANTS[name]?.state;
    const fixed = turns[`${FIXED}, ${state}`] ?? turns[OPEN_FIXED];
    const base = turns[MINIMAL];
    return {
      ...{ name, bytes: bytes[name] },
      ...{ cpuUs: all(own, 'serverUs'), cpu: of(ratios(own, base, 'serverUs')) },
      cpuToFixed: of(ratios(own, fixed, 'serverUs')),
      ...{ scriptUs: all(own, 'scriptUs'), script: of(ratios(own, base, 'scriptUs')) },
    };
  });
}
