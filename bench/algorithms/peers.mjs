// The limiters of this and of other libraries, as applications use them: one limit per request.
import { sendAll, turnsOf } from '../race.mjs';
import { costsOf } from './blocks.mjs';
import { LIMITERS } from './limiters.mjs';

const REQUESTS = 4000;
const IN_FLIGHT = 200;
/** A client over its limit usually sends many requests. */
const CLIENTS = { passes: 4000, denied: 200 };
const STATES = Object.keys(CLIENTS);

/** @returns {{ name: string, passes: object, denied: object }[]} costs of a request */
export async function peersWithKinds(redis, { blocks, rounds }, say) {
  say('kinds of counter: other libraries');
  await redis.control.flushall();
  const runners = {};
  const limiters = [];
  for (const [name, open] of Object.entries(LIMITERS)) {
    for (const state of STATES) {
      const limiter = await open(redis.port, state === 'passes');
      limiters.push(limiter);
      runners[`${name}, ${state}`] = await runnerOf(limiter, state);
    }
  }
  const turns = await turnsOf(runners, 1, blocks * rounds, redis);
  for (const { close } of limiters) await close();
  return Object.keys(LIMITERS).map((name) => ({
    name,
    ...Object.fromEntries(STATES.map((state) => [state, costsOf(turns[`${name}, ${state}`], blocks)])),
  }));
}

async function runnerOf({ ask }, state) {
  const request = (n) => ask(`client-${n % CLIENTS[state]}`);
  const checked = async (n) => {
    if ((await request(n)) !== (state === 'passes')) throw new Error(`not each request ${state}`);
  };
  // opens all counters; where requests are to be denied, two fill them
  for (let i = 0; i < 2; i++) await sendAll(request, IN_FLIGHT, REQUESTS);
  return () => sendAll(checked, IN_FLIGHT, REQUESTS);
}
