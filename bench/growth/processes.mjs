// Several processes that charge one counter: their cost for Redis, and whether the counter is exact.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ROOMY } from '../apps/decorate.mjs';
import { short } from '../stats.mjs';
import { urlOf, withService } from './cost.mjs';

const APP = fileURLToPath(new URL('processes-app.mjs', import.meta.url));

/**
 * Processes, and requests per second of each: first the same rate of each, then the same rate of all together. With more,
 * two cores are busy, and requests that wait for them share calls.
 */
const LOADS = [
  [1, 100],
  [4, 100],
  [16, 100],
  [4, 400],
  [1, 1600],
];

export function processes(redis, options, say) {
  return withService({ redis: urlOf(redis) }, (service) => measureAll(service, redis, options, say));
}

async function measureAll(service, redis, { quick }, say) {
  const rows = [];
  for (const [count, perSecond] of quick ? [[2, 100]] : LOADS) {
    say(`growth: ${count} processes, ${perSecond} requests/s each`);
    const seconds = quick ? 1 : 5;
    const cost = await measure(redis, { count, perSecond, seconds, limit: ROOMY });
    await requireExact(service, cost.allowed);
    const limit = await requireLimit(redis, { count, perSecond, seconds: quick ? 1 : 2 });
    rows.push([count, perSecond, short(cost.redisUs), short(cost.calls), limit]);
  }
  return [
    {
      id: 'processes',
      title: 'Processes on one hot counter; each request has another counter of its own',
      columns: [
        'processes',
        'requests/s each',
        'Redis µs/request',
        'calls/request',
        'allowed of twice as many',
      ],
      rows,
    },
  ];
}

async function measure(redis, { count, perSecond, seconds, limit }) {
  await redis.control.flushall();
  const children = await start(count, { redisPort: redis.port, limit });
  const before = await redis.work();
  await send(children, count * perSecond, seconds);
  await sleep(200);
  const after = await redis.work();
  const { requests, allowed } = await stop(children);
  return {
    allowed,
    redisUs: (after.cpuUs - before.cpuUs) / requests,
    calls: (after.calls - before.calls) / requests,
  };
}

async function start(count, spec) {
  const children = Array.from({ length: count }, () =>
    fork(APP, [JSON.stringify(spec)], { stdio: ['pipe', 'inherit', 'inherit', 'ipc'] }),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  // until they have nothing more to do
  await sleep(200);
  return children;
}

async function stop(children) {
  const results = children.map((child) => once(child, 'message'));
  for (const child of children) child.stdin.end();
  const total = { requests: 0, allowed: 0 };
  for (const [{ requests, allowed, stray }] of await Promise.all(results)) {
    if (stray > 0) throw new Error(`${stray} requests were decided without Redis`);
    total.requests += requests;
    total.allowed += allowed;
  }
  return total;
}

/** Sends requests at random times, as independent clients do, each to a random process. */
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

/** @returns the number of requests that a limit of half of them allowed */
async function requireLimit(redis, { count, perSecond, seconds }) {
  const limit = Math.round((count * perSecond * seconds) / 2);
  const { allowed } = await measure(redis, { count, perSecond, seconds, limit });
  if (allowed !== limit) throw new Error(`${count} processes allowed ${allowed} of a limit of ${limit}`);
  return limit;
}

async function requireExact(service, allowed) {
  const { results } = await service.peek([{ name: 'hot', key: 'all', window: 3600, limit: ROOMY }]);
  const [{ used }] = results;
  if (used !== allowed) throw new Error(`${allowed} requests were allowed, but the counter is at ${used}`);
}
