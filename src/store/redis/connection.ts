import type { Cluster, Redis } from 'ioredis';
import { once } from 'node:events';
import { FreqLimitError, formatError } from '../../core/errors.js';
import { describe } from './error-hints.js';
import { isInItsDatabase, isRefusedHandshake, refusalOf, watchDatabase } from './check-handshake.js';
import { clientWarnings } from './client-warnings.js';
import { type ClusterClient, ClusterNodes, serverOf } from './cluster-nodes.js';
import { Deadline } from './deadline.js';
import { isClient, isClusterOption, type RedisClient, type RedisOption } from './redis-option.js';
import { reviveAfterBrokenLookUp } from './revive.js';
import { ReturningLink } from './returning-link.js';
import { SilenceWatch } from './silence-watch.js';
import type { StoreLog } from '../../core/store.js';

/** A client and the state of its connections. A server is named as in `client.slots`. */
export interface Connection {
  readonly client: RedisClient;
  /** Connects and waits until the server is ready, a second at most; what fails goes on in the background. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** Whether a call to this server is sent at once. */
  isReady(server: string): boolean;
  /** Whether the connection to this server was just lost, and its first reconnect is in progress. */
  isReturning(server: string): boolean;
  /** Resolves when one of the two above may have changed. */
  changed(): Promise<void>;
  /** Closes the connection to this server if it stays silent. */
  watch(server: string): void;
}

/** Who hears of a connection that is lost and found. */
export interface ConnectionListener {
  /** The connection was lost, and the first reconnect has failed. */
  onLost(reason: string): void;
  /** The server accepts the connection, but denies its user or its database. */
  onRefused(reason: string): void;
  /** The connection may be used. */
  onReady(): void;
}

const MAX_START_MS = 1_000;
const MAX_QUIT_MS = 500;

/** A connection of our own for a URL or options; for a client handed in, that client, whose life is not our affair. */
export async function connectionFor(
  redis: RedisOption,
  timeoutMs: number,
  log: StoreLog,
  listener: ConnectionListener,
): Promise<Connection> {
  if (isClient(redis)) {
    for (const complaint of clientWarnings(redis)) log.warn(complaint);
    return new BorrowedConnection(redis, listener);
  }
  const ioredis = await loadIoredis();
  return new OwnConnection(connect(ioredis, redis), timeoutMs, listener);
}

function connect({ Redis, Cluster }: Ioredis, redis: Exclude<RedisOption, RedisClient>) {
  if (typeof redis === 'string') return new Redis(redis, { ...limiterOptions(), lazyConnect: true });
  if (!isClusterOption(redis))
    return new Redis({ ...limiterOptions(), ...withoutUndefined(redis), lazyConnect: true });
  const { cluster, options = {} } = redis;
  return new Cluster(cluster, {
    ...clusterOptions(),
    ...withoutUndefined(options),
    redisOptions: { ...limiterOptions(), ...withoutUndefined(options.redisOptions ?? {}) },
    lazyConnect: true,
  });
}

/** `undefined` is as good as not given, and must not take away what a limiter needs. */
function withoutUndefined(options: object): object {
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
      'redis: counting in Redis needs the package ioredis: run npm install ioredis',
      {
        cause: error,
      },
    );
  }
}

/** What a limiter's connection needs, each against one way to hang or to count twice. */
function limiterOptions(): object {
  return {
    // an unanswered EVALSHA may have counted: never send it again after a reconnect
    autoResendUnfulfilledCommands: false,
    // and reject it when the connection closes, instead of leaving it pending
    maxRetriesPerRequest: 0,
    // a visit is answered now or not at all: none waits in memory for a server that is away
    enableOfflineQueue: false,
    // for connections to sentinels; SilenceWatch watches the connection itself and its commands
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

/** Requests wait for the first reconnect, so it comes at once. Later ones differ in each process, so that not all come together. */
function backOff(times: number): number {
  return times === 1 ? Math.random() * 10 : Math.min(50 * times, 1_000) + Math.random() * 50;
}

/** Called when the state of a connection changes. */
interface ConnectionEvents {
  onReady(): void;
  onRefused(error: unknown): void;
  onLost(): void;
}

/** The common part of our own connections and of clients that were passed in. */
abstract class FollowedConnection {
  /** Resolves when it is first known whether the connection may be used. */
  protected readonly settled: Promise<void>;
  private readonly nodes: ClusterNodes | undefined;
  private readonly link: ReturningLink;
  private readonly stopWatching: () => void;
  private wakeUp!: () => void;
  private change!: Promise<void>;

  constructor(
    readonly client: RedisClient,
    events: ConnectionEvents,
  ) {
    this.renew();
    let settle = ignore;
    this.settled = new Promise((resolve) => (settle = resolve));
    const notify = (): void => {
      this.notify();
    };
    this.nodes = client.isCluster ? new ClusterNodes(client as unknown as ClusterClient, notify) : undefined;
    this.link = new ReturningLink(
      client,
      () => {
        events.onLost();
      },
      notify,
    );
    this.stopWatching = watchDatabase(client, {
      onReady: () => {
        events.onReady();
        notify();
        settle();
      },
      onRefused: (error) => {
        events.onRefused(error);
        notify();
        settle();
      },
    });
  }

  isReady(server: string): boolean {
    return this.isUsable && (this.nodes?.isReady(server) ?? true);
  }

  isReturning(server: string): boolean {
    if (!this.link.isReady) return this.link.isReturning;
    // the server has not confirmed the database yet
    if (!isInItsDatabase(this.client)) return refusalOf(this.client) === undefined;
    return this.nodes?.isReturning(server) ?? false;
  }

  changed(): Promise<void> {
    return this.change;
  }

  /** Whether the connection as a whole may be used. */
  protected get isUsable(): boolean {
    return this.link.isReady && isInItsDatabase(this.client);
  }

  protected detach(): void {
    this.stopWatching();
    this.link.detach();
    this.nodes?.detach();
    this.notify();
  }

  private notify(): void {
    const { wakeUp } = this;
    this.renew();
    wakeUp();
  }

  private renew(): void {
    this.change = new Promise((resolve) => (this.wakeUp = resolve));
  }
}

class OwnConnection extends FollowedConnection implements Connection {
  private readonly watches = new Map<string, SilenceWatch>();
  private readonly stopReviving: () => void;
  private closing: Promise<void> | undefined;
  private lastError: unknown;

  constructor(
    private readonly redis: Redis | Cluster,
    private readonly timeoutMs: number,
    private readonly listener: ConnectionListener,
  ) {
    super(redis, {
      onReady: () => {
        this.lastError = undefined;
        listener.onReady();
      },
      onRefused: (error) => {
        this.lastError = error;
        this.reportLost();
      },
      onLost: () => {
        this.reportLost();
      },
    });
    if (!redis.isCluster) this.watches.set('', new SilenceWatch(redis as Redis, timeoutMs));
    this.stopReviving = redis.isCluster ? ignore : reviveAfterBrokenLookUp(redis);
    redis.on('+node', (node: Redis) => {
      this.addNode(node);
    });
    redis.on('error', (error: Error) => {
      this.lastError = error;
    });
  }

  async open(): Promise<void> {
    if (this.redis.status !== 'wait') return;
    await waitAtMost(MAX_START_MS, this.connect());
    if (!this.isUsable) this.reportLost();
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  watch(server: string): void {
    this.watches.get(server)?.start();
  }

  private async connect(): Promise<void> {
    try {
      await this.redis.connect();
      await this.settled;
      const nodes = this.redis.isCluster ? (this.redis as Cluster).nodes('master') : [];
      await Promise.all(nodes.map(nodeReady));
    } catch (error) {
      this.lastError = error;
      this.reportLost();
    }
  }

  /** ioredis connects to a node at its first command, and rejects commands until then, so it is connected now. */
  private addNode(node: Redis): void {
    const server = serverOf(node);
    const watch = new SilenceWatch(node, this.timeoutMs);
    this.watches.set(server, watch);
    node.on('end', () => {
      if (this.watches.get(server) === watch) this.watches.delete(server);
    });
    void connectNode(node);
  }

  private reportLost(): void {
    if (this.closing !== undefined) return;
    const why =
      this.lastError === undefined ? 'the connection is closed' : describe(rootError(this.lastError));
    const reason = `Redis cannot be reached: ${why}`;
    if (isRefusedHandshake(this.lastError)) this.listener.onRefused(reason);
    else this.listener.onLost(reason);
  }

  private async end(): Promise<void> {
    this.stopReviving();
    const { status } = this.redis;
    const ended = once(this.redis, 'end').catch(() => undefined);
    if (status === 'ready') await waitAtMost(MAX_QUIT_MS, this.redis.quit().catch(ignore));
    this.redis.disconnect();
    // a connection that is lost has ended already, and says so no more
    if (status === 'ready' || status === 'connect') await waitAtMost(MAX_QUIT_MS, ended);
    this.detach();
  }
}

/** Of a Cluster that cannot be reached, what its last node has said. */
function rootError(error: unknown): unknown {
  return (Object(error) as { readonly lastNodeError?: unknown }).lastNodeError ?? error;
}

async function connectNode(node: Redis): Promise<void> {
  if (node.status === 'wait') await node.connect().catch(ignore);
}

async function nodeReady(node: Redis): Promise<void> {
  await connectNode(node);
  if (node.status !== 'ready') await Promise.race([once(node, 'ready'), once(node, 'end')]).catch(ignore);
}

/** A client that others use too: it is asked when it is ready, and listened to. */
class BorrowedConnection extends FollowedConnection implements Connection {
  constructor(client: RedisClient, listener: ConnectionListener) {
    super(client, {
      onReady: () => {
        listener.onReady();
      },
      onRefused: (error) => {
        listener.onRefused(`Redis cannot be reached: ${describe(error)}`);
      },
      // its owner may close it at any time: logged only when a request needs it
      onLost: ignore,
    });
  }

  async open(): Promise<void> {
    const { client } = this;
    if (this.isUsable || refusalOf(client) !== undefined) return;
    // one that waits for its first command is connected now, as by that command
    if (client.status === 'wait') client.connect?.().catch(ignore);
    await waitAtMost(MAX_START_MS, this.settled);
  }

  close(): Promise<void> {
    this.detach();
    return Promise.resolve();
  }

  watch(): void {
    // other code may wait on it for any time, so only its owner may close it
  }
}

/** Why no call may be sent to a client. */
export function whyNotReady(client: { readonly status: string }): string {
  const refusal = refusalOf(client);
  if (refusal !== undefined) return formatError(refusal);
  if (client.status !== 'ready') return `the connection is not ready (status: ${client.status})`;
  return isInItsDatabase(client)
    ? 'the server has closed the connection'
    : 'the server has not confirmed the database yet';
}

function ignore(): void {
  // the connection goes either way
}

/** Waits for a promise that never rejects, but no longer than this. */
async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  await new Deadline(ms).wait(promise).catch(ignore);
}
