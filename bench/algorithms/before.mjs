// The fixed window, compared to its script before there were other kinds of counters.
import { readFileSync } from 'node:fs';
import { ratios, turnsOf } from '../race.mjs';
import { intervalOfBlocks } from './blocks.mjs';
import { Recorder } from './recorded-calls.mjs';
import { FIXED, requestsOf, SIZES, VARIANTS } from './variants.mjs';

const SOURCE = readFileSync(new URL('consume-before.lua', import.meta.url), 'utf8');
const STATES = ['passes', 'denied'];
/** A few percent need more rounds than the other figures. */
const MORE_ROUNDS = 3;

/** @returns one for each number of checks and state: µs per check, and the ratio to before */
export async function fixedWindowAgainstBefore(redis, { blocks, rounds, quick }, say) {
  const rows = [];
  for (const size of quick ? SIZES.slice(1, 2) : SIZES) {
    say(`fixed window against before: ${size.checks} checks a call`);
    await redis.control.flushall();
    const recorder = await Recorder.open(redis.port);
    const runners = await runnersOf(recorder, size);
    const turns = await turnsOf(runners, size.checks, MORE_ROUNDS * blocks * rounds, redis);
    await recorder.close();
    for (const state of STATES) rows.push({ checks: size.checks, state, ...compare(turns, state, blocks) });
  }
  return rows;
}

/** Both scripts get the same calls, on the same counters. */
async function runnersOf(recorder, size) {
  const sha1 = await recorder.client.script('LOAD', SOURCE);
  const runners = {};
  for (const state of STATES) {
    const name = `${FIXED}, ${state}`;
    const requests = requestsOf({ name, ...VARIANTS[name] }, size);
    const now = await recorder.record(requests, state !== 'denied');
    const before = now.map((args) => callBefore(sha1, args));
    runners[`${state}, before`] = () => recorder.replay(before, size.inFlight);
    runners[`${state}, now`] = () => recorder.replay(now, size.inFlight);
  }
  return runners;
}

/** The requests and the runs were two arguments. */
function callBefore(sha1, [, count, ...rest]) {
  const [requests, ...runs] = JSON.parse(rest[count]);
  return [sha1, count, ...rest.slice(0, count), requests, JSON.stringify(runs)];
}

function compare(turns, state, blocks) {
  const [before, now] = [turns[`${state}, before`], turns[`${state}, now`]];
  const us = (own, field) =>
    intervalOfBlocks(
      own.map((one) => one[field]),
      blocks,
    );
  const ratio = (field) => intervalOfBlocks(ratios(now, before, field), blocks);
  return {
    script: { before: us(before, 'scriptUs'), now: us(now, 'scriptUs'), ratio: ratio('scriptUs') },
    cpu: { before: us(before, 'serverUs'), now: us(now, 'serverUs'), ratio: ratio('serverUs') },
  };
}
