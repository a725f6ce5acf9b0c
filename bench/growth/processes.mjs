// Several processes that count on one counter: what they cost Redis, and whether the counter is exact.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ROOMY } from '../apps/decorate.mjs';
import { short } from '../stats.mjs';
import { urlOf, withService } from './cost.mjs';

const APP = fileURLToPath(new URL('processes-app.mjs', import.meta.url));
/** Processes, and requests per second of each: 16 with more would be more than two cores can do. */
const LOADS = [
  [1, 250],
  [4, 250],
  [16, 250],
  [1, 1000],
  [4, 1000],
];

export function processes(redis, options, say) {
  return withService({ redis: urlOf(redis) }, (service) => measureAll(service, redis, options, say));
}

async function measureAll(service, redis, { quick }, say) {
  const rows = [];
  for (const [count, perSecond] of quick ? [[2, 250]] : LOADS) {
    say(`growth: ${count} processes, ${perSecond} requests/s each`);
    const seconds = quick ? 1 : 5;
    const cost = await measure(redis, { count, perSecond, seconds, limit: ROOMY });
    await requireExact(service, cost.allowed);
    // again, and now the limit denies every second request
    const limit = Math.round((count * perSecond * seconds) / 2);
    const { allowed } = await measure(redis, { count, perSecond, seconds, limit });
    if (allowed !== limit) throw new Error(`${count} processes allowed ${allowed} of a limit of ${limit}`);
    rows.push([count, perSecond, short(cost.redisUs), short(cost.calls), `${allowed} of ${limit}`]);
  }
  return [
    {
      id: 'processes',
      title: 'Processes on one hot counter; each request has another counter of its own',
      columns: ['processes', 'requests/s each', 'Redis µs/request', 'calls/request', 'allowed of a limit'],
      rows,
    },
  ];
}

async function measure(redis, { count, perSecond, seconds, limit }) {
  await redis.control.flushall();
  const children = Array.from({ length: count }, () =>
    fork(APP, [JSON.stringify({ redisPort: redis.port, limit })], {
      stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
    }),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  // starting is over
  await sleep(200);
  const before = await redis.work();
  await send(children, count * perSecond, seconds);
  await sleep(200);
  const after = await redis.work();
  const results = children.map((child) => once(child, 'message'));
  for (const child of children) child.stdin.end();
  const total = { requests: 0, allowed: 0 };
  for (const [{ requests, allowed, stray }] of await Promise.all(results)) {
    if (stray > 0) throw new Error(`${stray} requests were decided without Redis`);
    total.requests += requests;
    total.allowed += allowed;
  }
  return {
    allowed: total.allowed,
    redisUs: (after.cpuUs - before.cpuUs) / total.requests,
    calls: (after.calls - before.calls) / total.requests,
  };
}

/** Requests come at random times, as those of independent clients do, and each goes to one process. */
async function send(children, perSecond, seconds) {
  const total = perSecond * seconds;
  const from = performance.now();
  let dueMs = 0;
  for (let sent = 0; sent < total; await nextTurn()) {
    for (const nowMs = performance.now() - from; sent < total && dueMs <= nowMs; sent++) {
      children[Math.floor(Math.random() * children.length)].stdin.write('.');
      dueMs += (-Math.log(1 - Math.random()) * 1000) / perSecond;
    }
  }
}

async function requireExact(service, allowed) {
  const { results } = await service.peek([{ name: 'hot', key: 'all', window: 3600, limit: ROOMY }]);
  const [{ used }] = results;
  if (used !== allowed) throw new Error(`${allowed} requests were allowed, but the counter is at ${used}`);
}
