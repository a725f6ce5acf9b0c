import type { Log } from '../../core/log.js';
import { isOneOfSeveral } from './workers.js';

/**
 * Why counters are in memory: it was `'chosen'` with `redis: false`, or the option is `'unset'`, written with the value
 * `undefined`. `undefined` if the option was left out.
 */
export type MemoryReason = 'chosen' | 'unset' | undefined;

const UNSET =
  'The option redis is undefined, for example because an environment variable is not set, so limits are counted in the ' +
  'memory of this process.';
const PRODUCTION =
  'NODE_ENV is production and the option redis is missing, so limits are counted in the memory of this process.';
const LOST = 'A restart forgets all counts, and each process allows the full limit.';
const SET = "Set redis to the URL of your Redis, such as 'redis://localhost:6379'";
const MEANT = 'If you mean to count in memory, write redis: false.';

/** Logs at most one warning about counters in memory, and none where that was chosen. */
export function warnOfMemory(
  reason: MemoryReason,
  log: Log,
  env: NodeJS.ProcessEnv = process.env,
  isWorker = isOneOfSeveral(env),
): void {
  if (reason === 'chosen') return;
  if (isWorker) log.warn('FREQ_LIMIT_MEMORY_PER_WORKER', perWorker(reason));
  else if (reason === 'unset') log.warn('FREQ_LIMIT_MEMORY_ONLY', `${UNSET} ${LOST} ${SET}. ${MEANT}`);
  else if (env['NODE_ENV'] === 'production')
    log.warn('FREQ_LIMIT_MEMORY_ONLY', `${PRODUCTION} ${LOST} ${SET}. ${MEANT}`);
}

function perWorker(reason: MemoryReason): string {
  const why = reason === 'unset' ? UNSET : 'Limits are counted in the memory of this process.';
  return (
    `${why} It is one of several workers, and each allows the full limit. Set redis to share counters between ` +
    `workers. ${MEANT}`
  );
}
