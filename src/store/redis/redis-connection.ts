import type { Cluster, Redis } from 'ioredis';
import { once } from 'node:events';
import { FreqLimitError, showError } from '../../core/errors.js';
import { describe } from './advice.js';
import { isInItsDatabase, isRefusedHandshake, refusalOf, watchDatabase } from './check-handshake.js';
import { complaintsOf } from './client-options.js';
import { isClient, isClusterOption, type RedisClient, type RedisOption } from './redis-client.js';
import type { StoreLog } from '../store.js';

/** A client, and what is ours to do with it. */
export interface Connection {
  readonly client: RedisClient;
  /** Connects and waits until the server is ready, a second at most; what fails goes on in the background. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** Who hears of a connection that is lost and found. */
export interface ConnectionListener {
  onLost(reason: string): void;
  /** The server takes the connection, and refuses its user or its database. */
  onRefused(reason: string): void;
  onReady(): void;
}

const LONGEST_START_MS = 1_000;
const LONGEST_QUIT_MS = 500;

/** A connection of our own for a URL or options; for a client handed in, that client, whose life is not our affair. */
export async function connectionFor(
  redis: RedisOption,
  timeoutMs: number,
  log: StoreLog,
  listener: ConnectionListener,
): Promise<Connection> {
  if (isClient(redis)) {
    for (const complaint of complaintsOf(redis)) log.warn(complaint);
    return new BorrowedConnection(redis, listener);
  }
  const ioredis = await loadIoredis();
  return new OwnConnection(connect(ioredis, redis, timeoutMs), listener);
}

function connect({ Redis, Cluster }: Ioredis, redis: Exclude<RedisOption, RedisClient>, timeoutMs: number) {
  if (typeof redis === 'string') return new Redis(redis, { ...limiterOptions(timeoutMs), lazyConnect: true });
  if (!isClusterOption(redis))
    return new Redis({ ...limiterOptions(timeoutMs), ...said(redis), lazyConnect: true });
  const { cluster, options = {} } = redis;
  return new Cluster(cluster, {
    ...clusterOptions(),
    ...said(options),
    redisOptions: { ...limiterOptions(timeoutMs), ...said(options.redisOptions ?? {}) },
    lazyConnect: true,
  });
}

/** `undefined` is as good as not given, and must not take away what a limiter needs. */
function said(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** The constructors as ioredis 5 and 6 share them; their own types differ in what they allow beside. */
interface Ioredis {
  readonly Redis: new (...args: [options: object] | [url: string, options: object]) => Redis;
  readonly Cluster: new (nodes: readonly unknown[], options: object) => Cluster;
}

async function loadIoredis(): Promise<Ioredis> {
  try {
    return (await import('ioredis')) as unknown as Ioredis;
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
    // for what the client itself asks when it connects; a visit has its own deadline
    commandTimeout: Math.max(1_000, 2 * timeoutMs),
    // a server that hangs: let go of the socket, so that Sentinel or the Cluster is asked who is the primary now
    socketTimeout: Math.max(500, 2 * timeoutMs),
    connectTimeout: 1_000,
    // a sentinel that hangs: ask the next one
    sentinelCommandTimeout: 1_000,
    keepAlive: 10_000,
    // a primary that is replaced while it lives goes on answering for seconds, and what it counts is thrown away
    failoverDetector: true,
    // a timer that ioredis keeps when it lets go of a lost connection; the process waits for it
    disconnectTimeout: 50,
    // back soon after the server is, and not all processes in the same moment
    retryStrategy: backOff,
    // a primary that became a replica, or is still loading: look for the primary again, but do not resend
    reconnectOnError: (error: Error) => (/READONLY|LOADING|MASTERDOWN/.test(error.message) ? 1 : false),
  };
}

/** What is said one level higher where there are several servers. */
function clusterOptions(): object {
  return {
    // the Cluster asks again on its own what a lost connection has not answered; that would count twice
    retryDelayOnFailover: 0,
    // asks any node how the cluster is, and takes one that is just being connected to for a cluster that is down
    enableReadyCheck: false,
    enableOfflineQueue: false,
    // these refusals have run nothing, so asking again is safe; but the visit waits meanwhile
    maxRedirections: 4,
    retryDelayOnTryAgain: 20,
    retryDelayOnClusterDown: 100,
    slotsRefreshTimeout: 1_000,
    // who owns which slot is looked up again on its own after an error, but no oftener than this
    slotsRefreshInterval: 5_000,
    clusterRetryStrategy: backOff,
  };
}

function backOff(times: number): number {
  return Math.min(50 * times, 1_000) + Math.random() * 50;
}

class OwnConnection implements Connection {
  readonly client: RedisClient;
  private closing: Promise<void> | undefined;
  private lastError: unknown;
  private readonly stopWatching: () => void;
  /** Resolves when it is known for the first time whether the connection may be used. */
  private readonly settled: Promise<void>;

  constructor(
    private readonly redis: Redis | Cluster,
    private readonly listener: ConnectionListener,
  ) {
    this.client = redis;
    // a node's connection is made at its first command, and meanwhile refuses the next ones
    redis.on('+node', (node: Redis) => {
      node.on('close', () => {
        stopSocketTimer(node);
      });
      void connectNode(node);
    });
    redis.on('error', (error: Error) => {
      this.lastError = error;
      if (redis.status !== 'ready') this.lose();
    });
    redis.on('close', () => {
      stopSocketTimer(redis);
      this.lose();
    });
    let settle: () => void = ignore;
    this.settled = new Promise((resolve) => (settle = resolve));
    this.stopWatching = watchDatabase(redis, {
      onReady: () => {
        this.lastError = undefined;
        listener.onReady();
        settle();
      },
      onRefused: (error) => {
        this.lastError = error;
        this.lose();
        settle();
      },
    });
  }

  async open(): Promise<void> {
    if (this.redis.status !== 'wait') return;
    await within(LONGEST_START_MS, this.connect());
    if (!isReady(this.redis)) this.lose();
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async connect(): Promise<void> {
    try {
      await this.redis.connect();
      await this.settled;
      const nodes = this.redis.isCluster ? (this.redis as Cluster).nodes('master') : [];
      await Promise.all(nodes.map(nodeReady));
    } catch (error) {
      this.lastError = error;
      this.lose();
    }
  }

  private lose(): void {
    if (this.closing !== undefined) return;
    const why = this.lastError === undefined ? 'the connection is closed' : describe(cause(this.lastError));
    const reason = `Redis cannot be reached: ${why}`;
    if (isRefusedHandshake(this.lastError)) this.listener.onRefused(reason);
    else this.listener.onLost(reason);
  }

  private async end(): Promise<void> {
    this.stopWatching();
    const { status } = this.redis;
    const ended = once(this.redis, 'end').catch(() => undefined);
    if (status === 'ready') await within(LONGEST_QUIT_MS, this.redis.quit().catch(ignore));
    this.redis.disconnect();
    // a connection that is lost has ended already, and says so no more
    if (status === 'ready' || status === 'connect') await within(LONGEST_QUIT_MS, ended);
  }
}

/** Of a Cluster that cannot be reached, what its last node has said. */
function cause(error: unknown): unknown {
  return (Object(error) as { readonly lastNodeError?: unknown }).lastNodeError ?? error;
}

/**
 * ioredis keeps the timer of `socketTimeout` when it loses a connection: one of version 5 ends the next connection,
 * which is sound, and meanwhile none watches over it.
 */
function stopSocketTimer(client: object): void {
  const timed = client as { socketTimeoutTimer?: NodeJS.Timeout | undefined };
  clearTimeout(timed.socketTimeoutTimer);
  timed.socketTimeoutTimer = undefined;
}

async function connectNode(node: Redis): Promise<void> {
  if (node.status === 'wait') await node.connect().catch(ignore);
}

async function nodeReady(node: Redis): Promise<void> {
  await connectNode(node);
  if (!isReady(node)) await Promise.race([once(node, 'ready'), once(node, 'end')]).catch(ignore);
}

/** A client that others use too: it is asked when it is ready, and listened to. */
class BorrowedConnection implements Connection {
  private readonly stopWatching: () => void;
  /** Ends the wait for the client; there is none before it is opened. */
  private onSettled: () => void = ignore;

  constructor(
    readonly client: RedisClient,
    listener: ConnectionListener,
  ) {
    this.stopWatching = watchDatabase(client, {
      onReady: () => {
        listener.onReady();
        this.onSettled();
      },
      onRefused: (error) => {
        listener.onRefused(`Redis cannot be reached: ${describe(error)}`);
        this.onSettled();
      },
    });
  }

  async open(): Promise<void> {
    const { client } = this;
    if (isReady(client) || refusalOf(client) !== undefined) return;
    const settled = new Promise<void>((resolve) => (this.onSettled = resolve));
    // one that waits for its first command is connected now, as by that command
    if (client.status === 'wait') client.connect?.().catch(ignore);
    await within(LONGEST_START_MS, settled);
  }

  close(): Promise<void> {
    this.stopWatching();
    return Promise.resolve();
  }
}

/** Whether what is sent now goes to a server at once. */
export function isReady(client: { readonly status: string }): boolean {
  return client.status === 'ready' && isInItsDatabase(client);
}

/** Why nothing may be sent to a client. */
export function whyNotReady(client: { readonly status: string }): string {
  const refusal = refusalOf(client);
  if (refusal !== undefined) return showError(refusal);
  return client.status === 'ready'
    ? 'the server has not confirmed the database yet'
    : `the connection is not ready, but ${client.status}`;
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
