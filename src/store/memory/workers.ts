import cluster from 'node:cluster';

/**
 * Whether this process is one of several: a worker of `node:cluster` or an instance of PM2. PM2 sets the number of each
 * instance and usually their count.
 */
export function isOneOfSeveral(
  env: NodeJS.ProcessEnv = process.env,
  isWorker: boolean = cluster.isWorker,
): boolean {
  const { NODE_APP_INSTANCE: instance, instances } = env;
  // a single PM2 instance is also a worker, but the only one
  if (instance !== undefined && instances === '1') return false;
  return isWorker || Number(instance) > 0 || (instance !== undefined && Number(instances) > 1);
}
