import type { RedisClient } from './redis-option.js';

interface ReadOptions {
  readonly autoResendUnfulfilledCommands?: unknown;
  readonly maxRetriesPerRequest?: unknown;
  readonly retryDelayOnFailover?: unknown;
  readonly socketTimeout?: unknown;
  readonly commandTimeout?: unknown;
  readonly redisOptions?: ReadOptions | undefined;
}

/** ioredis reads its sockets after its timers have run: if the process is busy for this long, answered calls fail. */
const MIN_MS = 5_000;
/** Longer than a process should be busy, and still short for a server that hangs. */
const RECOMMENDED_MS = 10_000;

/**
 * Warnings about the options of a client that was passed: one for each option with which requests are counted twice, a
 * connection to a hanging server is kept, or calls fail when the process is busy. The client's queue does not matter: the
 * client is called only when it is ready, and no request waits longer than `timeoutMs`.
 */
export function clientWarnings({ isCluster, options }: RedisClient): string[] {
  const given = (options ?? {}) as ReadOptions;
  const ofServer = isCluster ? (given.redisOptions ?? {}) : given;
  const warnings: string[] = [];
  if (isCluster && given.retryDelayOnFailover !== 0)
    warnings.push(
      warning(
        'may count a request twice, because it resends commands after it has lost a connection',
        'retryDelayOnFailover: 0',
      ),
    );
  if (!isCluster && ofServer.autoResendUnfulfilledCommands !== false && ofServer.maxRetriesPerRequest !== 0)
    warnings.push(
      warning(
        'may count a request twice, because it resends unanswered commands after a reconnect',
        'maxRetriesPerRequest: 0 and autoResendUnfulfilledCommands: false',
      ),
    );
  return [...warnings, ...timerWarnings(ofServer)];
}

function timerWarnings(options: ReadOptions): string[] {
  const warnings: string[] = [];
  if (typeof options.socketTimeout !== 'number')
    warnings.push(
      warning(
        'keeps its connection to a server that hangs, even after a failover',
        `socketTimeout: ${RECOMMENDED_MS}`,
      ),
    );
  for (const timer of ['socketTimeout', 'commandTimeout'] as const) {
    const ms = options[timer];
    if (typeof ms === 'number' && ms < MIN_MS)
      warnings.push(
        warning(
          `treats the server as hanging when this process is busy for ${ms} ms (${timer})`,
          `${timer}: ${RECOMMENDED_MS}`,
        ),
      );
  }
  return warnings;
}

function warning(problem: string, option: string): string {
  return `The client in the option redis ${problem}. Create it with ${option}, or set redis to a URL or options.`;
}
