// What it costs Redis to take, renew and release a lease, and to settle a cost, compared to a minimal script.
import { Log } from '../../dist/esm/core/log.js';
import { createStore } from '../../dist/esm/store/create-store.js';
import { sendAll, turnsOf } from '../race.mjs';
import { costRow } from './cost-row.mjs';
import { fresh } from './kinds.mjs';
import { minimalCalls } from './minimal-script.mjs';
import { RecordedClient } from './recorded-calls.mjs';
import { CHARGED, DIFFERENCE, KINDS, leasesOf, requestsOf } from './settlement-checks.mjs';
import { FIXED, MINIMAL, SIZES } from './variants.mjs';

// of Redis: it is emptied before each turn that creates counters
const DATABASE = 1;
const IN_FLIGHT = 16;
/** Those that have leases of each counter all the time. */
const OTHERS = ['other-a', 'other-b'];

const OPTIONS = {
  ...{ namespace: 'fl', timeoutMs: 10_000, coalesce: false, denyCache: false },
  ...{ maxCounters: 1_000, fallbackShare: 1 },
};

/** @returns {{ checks: number, rows: object[] }[]} by checks of a call */
export async function leasesAndSettlements(redis, { blocks, rounds, quick }, say) {
  const sections = [];
  for (const size of quick ? SIZES.slice(1, 2) : SIZES) {
    say(`leases and settlements: ${size.checks} checks a call`);
    await redis.control.flushall();
    const { runners, bytes, close } = await openRunners(redis.port, size);
    const turns = await turnsOf(runners, size.checks, blocks * rounds, redis);
    await close();
    const [minimal, fixed] = [turns[MINIMAL], turns[FIXED]];
    const rows = Object.entries(turns).map(([name, own]) => ({
      ...{ name, bytes: bytes[name] },
      ...costRow({ own, minimal, fixed, blocks }),
    }));
    sections.push({ checks: size.checks, rows });
  }
  return sections;
}

async function openRunners(port, size) {
  const existing = await StoreCalls.open(port);
  const created = await StoreCalls.open(port, DATABASE);
  const leases = await leaseRunners(existing, created, size);
  const runners = {
    ...(await fixedRunners(existing, size)),
    ...leases.runners,
    ...(await settleRunners(existing, size)),
  };
  return { runners, bytes: leases.bytes, close: () => Promise.all([existing.close(), created.close()]) };
}

/** The minimal script, and the fixed window with its script. */
async function fixedRunners(store, size) {
  const minimal = await store.callsOfConsume(requestsOf(size, 'r10', {}));
  const fixed = await store.callsOfConsume(requestsOf(size, 'r11', {}));
  const calls = await minimalCalls(store.client, minimal);
  return {
    [MINIMAL]: () => store.replay(calls, size.inFlight),
    [FIXED]: () => store.replay(fixed, size.inFlight),
  };
}

/** Leases of counters that have others too, of new counters, and of full ones. */
async function leaseRunners(store, created, size) {
  const { inFlight } = size;
  for (const other of OTHERS) await store.consumeAll(leasesOf(size, 'r20', other));
  const own = await callsOfLeases(store, leasesOf(size, 'r20', 'own'));
  const alone = await callsOfLeases(created, leasesOf(size, 'r21', 'own'));
  const bytes = {
    'lease, passes': await store.bytesOf(own.take),
    'lease, new': await created.bytesOf(alone.take),
  };
  await store.replay(own.release, inFlight);
  const denied = await store.callsOfConsume(leasesOf(size, 'r20', 'denied', OTHERS.length), false);
  const after = (calls, run) => Object.assign(run, { prepare: () => store.replay(calls, inFlight) });
  const runners = {
    'lease, passes': after(own.release, () => store.replay(own.take, inFlight)),
    'lease, new': fresh(() => created.replay(alone.take, inFlight), created.client),
    'lease, denied': () => store.replay(denied, inFlight),
    'lease, renewed': after(own.take, () => store.replay(own.renew, inFlight)),
    'lease, released': after(own.take, () => store.replay(own.release, inFlight)),
  };
  return { runners, bytes };
}

/** The calls that take, renew and release leases, which are taken in the end. */
async function callsOfLeases(calls, requests) {
  const results = [];
  const take = await calls.callsOf(async () => results.push(...(await calls.consumeAll(requests))));
  // this script is always sent whole
  const renew = await calls.callsOfEach(requests, (checks) => calls.store.renew(checks), 'evalBuffer');
  const release = await calls.callsOfEach(requests, (checks, n) =>
    calls.store.settle(
      checks,
      results[n],
      checks.map(() => 0),
    ),
  );
  requireOneEach(requests, { take, renew, release });
  await calls.replay(take, IN_FLIGHT);
  return { take, renew, release };
}

/** Requests that used less than they were charged, or more. */
async function settleRunners(store, { inFlight, ...size }) {
  const runners = {};
  let number = 30;
  for (const [kind, parts] of Object.entries(KINDS)) {
    for (const [way, cost] of [
      ['refund', CHARGED - DIFFERENCE],
      ['debt', CHARGED + DIFFERENCE],
    ]) {
      const requests = requestsOf(size, `r${number++}`, { ...parts, cost: CHARGED });
      const results = await store.consumeAll(requests);
      const calls = await store.callsOfEach(requests, (checks, n) =>
        store.store.settle(
          checks,
          results[n],
          checks.map(() => cost),
        ),
      );
      requireOneEach(requests, { [`${kind}, ${way}`]: calls });
      runners[`${kind}, ${way}`] = () => store.replay(calls, inFlight);
    }
  }
  return runners;
}

function requireOneEach(requests, lists) {
  for (const [name, calls] of Object.entries(lists)) {
    if (calls.length !== requests.length)
      throw new Error(`${name}: ${calls.length} calls for ${requests.length} requests`);
  }
}

/** Records the calls of a store. */
class StoreCalls extends RecordedClient {
  static async open(port, db) {
    const calls = new StoreCalls(port, db);
    calls.store = await createStore({ ...OPTIONS, redis: calls.client }, new Log(console));
    await calls.store.open();
    return calls;
  }

  /** @returns the results of each request */
  async consumeAll(requests, passes = true) {
    const results = [];
    const consume = async (n) => (results[n] = await this.store.consume(requests[n], true));
    await sendAll(consume, IN_FLIGHT, requests.length);
    if (results.flat().some(({ allowed }) => allowed !== passes))
      throw new Error(`not each request ${passes ? 'passes' : 'is denied'}`);
    return results;
  }

  async callsOfConsume(requests, passes) {
    return this.callsOf(() => this.consumeAll(requests, passes));
  }

  /** One request after the other, because those of a turn of the event loop share a call. */
  async callsOfEach(requests, run, command) {
    return this.callsOf(async () => {
      for (const [n, checks] of requests.entries()) await run(checks, n);
    }, command);
  }

  async close() {
    await this.store.close();
    this.client.disconnect();
  }
}
