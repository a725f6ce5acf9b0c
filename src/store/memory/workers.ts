import cluster from 'node:cluster';
import type { Log } from '../../core/log.js';

/** Warns if counters are in memory and the application has several processes. */
export function warnOfWorkers(
  log: Log,
  isWorker: boolean = cluster.isWorker,
  env: NodeJS.ProcessEnv = process.env,
): void {
  if (!isOneOfSeveral(isWorker, env)) return;
  log.warn(
    'FREQ_LIMIT_MEMORY_PER_WORKER',
    'Counters are in the memory of this process, which is one of several workers. Each worker allows the full limit, so a ' +
      'client gets the limit times the number of workers. Set the option redis to share counters between workers.',
  );
}

/** Detects workers of `node:cluster` and instances of PM2. PM2 sets the number of each instance and usually their count. */
function isOneOfSeveral(isWorker: boolean, env: NodeJS.ProcessEnv): boolean {
  const { NODE_APP_INSTANCE: instance, instances } = env;
  // a single PM2 instance is also a worker, but the only one
  if (instance !== undefined && instances === '1') return false;
  return isWorker || Number(instance) > 0 || (instance !== undefined && Number(instances) > 1);
}
