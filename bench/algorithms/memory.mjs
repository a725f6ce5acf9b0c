// What a counter of each kind takes in Redis, with its expiry and its place in the tables of keys.
import { KINDS, LIMIT } from './traffic.mjs';
import { checkOf, openStore } from './run.mjs';

const KEY_LENGTH = 50;
/** The tables of Redis double at powers of two. At three quarters they are as full as on average. */
const COUNTERS = 49_152;
const AT_ONCE = 1_024;
/** A state that is replaced in place needs more room than a new one, so each counter gets two requests. */
const REQUESTS = 2;
const LONG_MS = 3_600_000;
const LADDER = { stepsMs: [LONG_MS, 2 * LONG_MS], forgiveAfterMs: 24 * LONG_MS };

const CHANGES = {
  'fixed-window': {},
  'sliding-window': {},
  'token-bucket': {},
  calendar: {},
  // the second request of these crosses the limit
  blocked: { kind: KINDS.block().kind, block: { ...LADDER, stepsMs: [LONG_MS] }, cost: LIMIT },
  'blocked, with a list': { kind: KINDS.block().kind, block: LADDER, cost: LIMIT },
};

/** @returns the length of the keys, and the bytes of a counter by its kind */
export async function memory(redis) {
  const bytes = {};
  for (const [kind, changes] of Object.entries(CHANGES)) {
    await redis.control.flushall();
    const store = await openStore(redis.port);
    const before = await redis.usedMemory();
    for (let i = 0; i < REQUESTS; i++) await requestAll(store, kind, changes);
    bytes[kind] = Math.round(((await redis.usedMemory()) - before) / COUNTERS);
    await store.close();
  }
  return { keyLength: KEY_LENGTH, bytes };
}

async function requestAll(store, kind, changes) {
  const nowMs = Date.now();
  const calendar = {
    type: 'calendar',
    startsAtMs: nowMs,
    endsAtMs: nowMs + LONG_MS,
    nextEndsAtMs: nowMs + 2 * LONG_MS,
  };
  const fields = { windowMs: LONG_MS, ...(kind === 'calendar' ? { kind: calendar } : {}), ...changes };
  const group = `fl:s~0123456789:${kind}:`.replaceAll(/[ ,]/g, '');
  const base = {
    ...checkOf({ kind: kind in KINDS ? kind : 'block', traffic: 'memory' }, nowMs),
    ...fields,
    group,
  };
  for (let from = 0; from < COUNTERS; from += AT_ONCE) {
    const checks = Array.from({ length: AT_ONCE }, (_, i) => {
      const text = String(from + i).padStart(KEY_LENGTH - group.length, '0');
      return { ...base, text, key: group + text };
    });
    await Promise.all(checks.map((check) => store.consume([check])));
  }
}
