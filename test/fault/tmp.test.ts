import { setTimeout as sleep } from 'node:timers/promises';
import { RecordingLog, startLoad, storeFor } from './load.js';
import { keepBooks, secondsToNormal } from './books.js';
import { WatchedPair, commandTo } from './scene.js';
import { uniqueNamespace } from '../support/redis.js';
it.each([false, true])('planned, detector %s', async (failoverDetector) => {
  const scene = await WatchedPair.start();
  const log = new RecordingLog();
  const ns = uniqueNamespace();
  const t0 = performance.now();
  const store = await storeFor({ ...(scene.redis as object), ...(failoverDetector ? {failoverDetector} : {}) } as never, ns, log);
  await store.open();
  const load = startLoad(store, ns);
  await sleep(400);
  const makeMs = performance.now();
  await scene.failOver();
  const roles: string[] = [];
  let last = '';
  const pair = (scene as any).pair;
  while (performance.now() - makeMs < 14_000) {
    await sleep(100);
    const [a, b] = await Promise.all([pair.primary.port, scene.port].map(async (p: number) => /role:(\w+)/.exec(String(await commandTo(p, 'INFO', 'replication')))?.[1]));
    const now = `${a}/${b}/${log.lines.length} lines`;
    if (now !== last) roles.push(`${Math.round(performance.now() - makeMs)}: ${now}`);
    last = now;
  }
  await load.stop();
  await store.close();
  const books = await keepBooks(load.visits, scene.port, ns);
  console.log(failoverDetector, roles.join('\n'), log.lines.join('\n'), { ...books, late: books.late.length, unsound: books.unsound.length }, secondsToNormal(load.visits, makeMs));
  await scene.stop();
}, 40000);
