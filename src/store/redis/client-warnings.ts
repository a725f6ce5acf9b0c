import type { RedisClient } from './redis-option.js';

interface ReadOptions {
  readonly autoResendUnfulfilledCommands?: unknown;
  readonly maxRetriesPerRequest?: unknown;
  readonly retryDelayOnFailover?: unknown;
  readonly socketTimeout?: unknown;
  readonly commandTimeout?: unknown;
  readonly redisOptions?: ReadOptions | undefined;
}

/** Timers of ioredis run before its sockets are read: if the process is busy for that long, answered calls fail. */
const MIN_MS = 5_000;
/** Longer than a process should be busy, and still short for a hung server. */
const PATIENT_MS = 10_000;

/**
 * Warnings about the options of a client that was passed in: a line for each option that counts requests twice, keeps a
 * connection to a hung server, or fails when the process is busy. Its queue does not matter: the client is called only when
 * it is ready, and no request waits longer than `timeoutMs`.
 */
export function clientWarnings({ isCluster, options }: RedisClient): string[] {
  const given = (options ?? {}) as ReadOptions;
  const own = isCluster ? (given.redisOptions ?? {}) : given;
  const complaints: string[] = [];
  const complain = (option: string, harm: string): void => {
    complaints.push(
      `redis: the client handed in ${harm}: give it ${option}, or give a URL or options instead`,
    );
  };
  if (isCluster && given.retryDelayOnFailover !== 0) {
    complain('retryDelayOnFailover: 0', 'asks again when a connection is lost, and may count a visit twice');
  }
  if (!isCluster && own.autoResendUnfulfilledCommands !== false && own.maxRetriesPerRequest !== 0) {
    complain(
      'maxRetriesPerRequest: 0 and autoResendUnfulfilledCommands: false',
      'sends unanswered commands again after a reconnect, and may count a visit twice',
    );
  }
  if (typeof own.socketTimeout !== 'number') {
    complain(
      `socketTimeout: ${PATIENT_MS}`,
      'keeps its connection to a server that hangs, even after a failover',
    );
  }
  for (const timer of ['socketTimeout', 'commandTimeout'] as const) {
    const ms = own[timer];
    if (typeof ms === 'number' && ms < MIN_MS)
      complain(
        `${timer}: ${PATIENT_MS}`,
        `treats the server as hung when this process is busy for ${ms} ms (${timer})`,
      );
  }
  return complaints;
}
