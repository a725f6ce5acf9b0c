// How long the largest calls block Redis, by its slow log.
import { ROOMY } from './apps/decorate.mjs';
import { median } from './stats.mjs';
import { serviceOf } from './subjects.mjs';

const TIMES = 300;
const WINDOW = 3600;
// the slow log would else be full of the single commands of the scripts
const MIN_US = 20;
const MAX_COUNTERS = 128;

const check = (key, limit = ROOMY) => ({ name: 'longest', key: `client-${key}`, window: WINDOW, limit });
const each = (count, requestOf) => Array.from({ length: count }, (_, i) => requestOf(i));

/** The requests of one turn of the event loop; those of each list share a call. */
const CALLS = {
  '128 requests of 1 check, all counters distinct': each(MAX_COUNTERS, (i) => [check(i)]),
  '126 requests of 2 checks on 126 counters, 1 request denied': each(126, (i) => [
    check(i, i === 0 ? 0 : ROOMY),
    check((i + 1) % 126),
  ]),
  '256 requests of 1 check on 8 counters, all denied': each(256, (i) => [check(i % 8, 0)]),
  '1 request of 1,000 checks, denied': [each(1000, (i) => check(i, i === 999 ? 0 : ROOMY))],
};

/** @returns {{ name: string, medianMs: number, maxMs: number }[]} */
export async function longestCalls(redis, say) {
  const url = `redis://127.0.0.1:${redis.port}`;
  // without the deny cache, which would answer most denied requests
  const options = { redis: url, timeoutMs: 10_000, denyCache: false, namespace: 'longest' };
  const { app, service } = await serviceOf(options);
  await redis.control.config('SET', 'slowlog-log-slower-than', MIN_US, 'slowlog-max-len', 10 * TIMES);
  const rows = [];
  for (const [name, requests] of Object.entries(CALLS)) {
    say(`longest calls: ${name}`);
    const durations = await durationsMs(redis.control, () =>
      Promise.all(requests.map((checks) => service.consume(checks))),
    );
    rows.push({ name, medianMs: median(durations), maxMs: Math.max(...durations) });
  }
  await redis.control.config('SET', 'slowlog-log-slower-than', 10_000);
  await app.close();
  return rows;
}

async function durationsMs(control, call) {
  // the script is stored, and the counters exist
  for (let i = 0; i < TIMES; i++) await call();
  await control.slowlog('RESET');
  for (let i = 0; i < TIMES; i++) await call();
  const entries = await control.slowlog('GET', -1);
  const calls = entries.filter(([, , , [command]]) => command.toLowerCase() === 'evalsha');
  if (calls.length !== TIMES) throw new Error(`${calls.length} calls instead of ${TIMES}`);
  return calls.map(([, , us]) => us / 1000);
}
