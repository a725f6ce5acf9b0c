import type { Redis } from 'ioredis';
import { once } from 'node:events';
import { FreqLimitError, showError } from '../../core/errors.js';
import type { StoreLog } from '../store.js';
import { isClient, type RedisClient, type RedisOption } from './redis-client.js';

/** A client, and what is ours to do with it. */
export interface Connection {
  readonly client: RedisClient;
  /** Whether the server is known to be away, and the log knows it too. */
  readonly isLost: boolean;
  /** Connects and waits until the server is ready, a second at most; what fails goes on in the background. */
  open(): Promise<void>;
  close(): Promise<void>;
}

const LONGEST_START_MS = 1_000;
const LONGEST_QUIT_MS = 500;

/** A connection of our own for a URL or options; for a client handed in, that client, whose life is not our affair. */
export async function connectionFor(
  redis: RedisOption,
  timeoutMs: number,
  log: StoreLog,
): Promise<Connection> {
  if (isClient(redis)) {
    return { client: redis, isLost: false, open: () => Promise.resolve(), close: () => Promise.resolve() };
  }
  const { Redis } = await loadIoredis();
  const given = typeof redis === 'string' ? {} : redis;
  const options = { ...limiterOptions(timeoutMs), ...given, lazyConnect: true };
  return new OwnConnection(typeof redis === 'string' ? new Redis(redis, options) : new Redis(options), log);
}

/** The constructor as ioredis 5 and 6 share it; their own types differ in what they allow beside. */
type RedisConstructor = new (...args: [options: object] | [url: string, options: object]) => Redis;

async function loadIoredis(): Promise<{ Redis: RedisConstructor }> {
  try {
    return await import('ioredis');
  } catch (error) {
    throw new FreqLimitError(
      'FREQ_LIMIT_INVALID_OPTIONS',
      'redis: counting in Redis needs the package ioredis',
      {
        cause: error,
      },
    );
  }
}

/** What a limiter's connection needs, each against one way to hang or to count twice. */
function limiterOptions(timeoutMs: number): object {
  return {
    // an unanswered EVALSHA may have counted: never send it again after a reconnect
    autoResendUnfulfilledCommands: false,
    // and reject it when the connection closes, instead of leaving it pending
    maxRetriesPerRequest: 0,
    // a visit is answered now or not at all: none waits in memory for a server that is away
    enableOfflineQueue: false,
    // a server that hangs: give up on the question, then on the socket
    commandTimeout: timeoutMs,
    socketTimeout: Math.max(500, 2 * timeoutMs),
    connectTimeout: 1_000,
    keepAlive: 10_000,
    // a timer that ioredis keeps when it lets go of a lost connection; the process waits for it
    disconnectTimeout: 50,
    // back soon after the server is, and not all processes in the same moment
    retryStrategy: (times: number) => Math.min(50 * times, 1_000) + Math.random() * 50,
    // a primary that became a replica, or is still loading: look for the primary again, but do not resend
    reconnectOnError: (error: Error) => (/^(READONLY|LOADING|MASTERDOWN)/.test(error.message) ? 1 : false),
  };
}

class OwnConnection implements Connection {
  readonly client: RedisClient;
  isLost = false;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly log: StoreLog,
  ) {
    this.client = redis;
    redis.on('error', (error: Error) => {
      this.noteLoss(error);
    });
    redis.on('ready', () => {
      this.noteReturn();
    });
  }

  async open(): Promise<void> {
    if (this.redis.status !== 'wait') return;
    const connected = this.redis.connect().catch((error: unknown) => {
      this.noteLoss(error);
    });
    await within(LONGEST_START_MS, connected);
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    const { status } = this.redis;
    const ended = once(this.redis, 'end').catch(() => undefined);
    if (status === 'ready') await within(LONGEST_QUIT_MS, this.redis.quit().catch(ignore));
    this.redis.disconnect();
    // a connection that is lost has ended already, and says so no more
    if (status === 'ready' || status === 'connect') await within(LONGEST_QUIT_MS, ended);
  }

  /** One line when the server is lost, however often the client tries again. */
  private noteLoss(error: unknown): void {
    if (this.isLost) return;
    this.isLost = true;
    this.log.error(`Redis cannot be reached: ${showError(error)}. Trying again until it can.`);
  }

  private noteReturn(): void {
    if (!this.isLost) return;
    this.isLost = false;
    this.log.warn('Redis is reached again.');
  }
}

function ignore(): void {
  // the connection goes either way
}

/** Waits for a promise that never rejects, but no longer than this. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
