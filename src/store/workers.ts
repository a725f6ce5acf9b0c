import cluster from 'node:cluster';
import type { StoreLog } from './store.js';

/** Warns where counters in memory are one process's, and the application has several. */
export function warnOfWorkers(
  log: StoreLog,
  isWorker: boolean = cluster.isWorker,
  env: NodeJS.ProcessEnv = process.env,
): void {
  if (!isOneOfSeveral(isWorker, env)) return;
  log.warn(
    'Counters are in the memory of this process, which is one of several workers: each allows the whole limit, so a ' +
      'client gets the limit times the number of workers. Give the option redis, so that the workers share counters.',
  );
}

/** Workers of `node:cluster`, and instances of PM2, which tells each its number and, mostly, how many there are. */
function isOneOfSeveral(isWorker: boolean, env: NodeJS.ProcessEnv): boolean {
  const { NODE_APP_INSTANCE: instance, instances } = env;
  // of PM2 a single instance is a worker too
  if (instance !== undefined && instances === '1') return false;
  return isWorker || Number(instance) > 0 || (instance !== undefined && Number(instances) > 1);
}
