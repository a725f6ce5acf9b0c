import type { RedisClient } from './redis-client.js';

interface ReadOptions {
  readonly autoResendUnfulfilledCommands?: unknown;
  readonly maxRetriesPerRequest?: unknown;
  readonly retryDelayOnFailover?: unknown;
  readonly socketTimeout?: unknown;
  readonly redisOptions?: ReadOptions | undefined;
}

/**
 * What is wrong with the options of a client that was handed in: a line for each that counts visits twice, or holds
 * on to a server that hangs. What it queues or waits for does not matter: it is asked only when it is ready, and no
 * visit waits longer than `timeoutMs`.
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
    complain('socketTimeout: 500', 'holds on to a server that hangs, even when another has taken its place');
  }
  return complaints;
}
