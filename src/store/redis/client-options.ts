import type { RedisClient } from './redis-client.js';

interface ReadOptions {
  readonly autoResendUnfulfilledCommands?: unknown;
  readonly maxRetriesPerRequest?: unknown;
  readonly retryDelayOnFailover?: unknown;
  readonly socketTimeout?: unknown;
  readonly commandTimeout?: unknown;
  readonly redisOptions?: ReadOptions | undefined;
}

/** ioredis' timers run before its sockets are read: a process that is busy for so long fails calls that were answered. */
const LEAST_MS = 5_000;
/** Long for a process to be busy, short for a server to hang. */
const PATIENT_MS = 10_000;

/**
 * What is wrong with the options of a client that was handed in: a line for each that counts requests twice, holds on
 * to a server that hangs, or takes a busy process for one. What it queues does not matter: it is called only when it is
 * ready, and no request waits longer than `timeoutMs`.
 */
export function complaintsOf({ isCluster, options }: RedisClient): string[] {
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
      'holds on to a server that hangs, even when another has taken its place',
    );
  }
  for (const timer of ['socketTimeout', 'commandTimeout'] as const) {
    const ms = own[timer];
    if (typeof ms === 'number' && ms < LEAST_MS)
      complain(
        `${timer}: ${PATIENT_MS}`,
        `takes a process that is busy for ${ms} ms for a server that hangs (${timer})`,
      );
  }
  return complaints;
}
