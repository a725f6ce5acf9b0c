import type { Cluster, Redis } from 'ioredis';
import { once } from 'node:events';
import { serverOf } from './cluster-nodes.js';
import type { ConnectionListener } from './connection.js';
import { waitAtMost } from './deadline.js';
import { describeError } from './error-hints.js';
import { isRefusedHandshake } from './errors.js';
import { FollowedConnection } from './followed-connection.js';
import { reviveAfterBrokenLookUp } from './revive.js';
import { THE_SERVER } from './servers.js';
import { SilenceWatch } from './silence-watch.js';

const MAX_START_MS = 1_000;
const MAX_QUIT_MS = 500;

/** The connection of a client that the limiter has made, and closes. */
export class OwnConnection extends FollowedConnection {
  private readonly watches = new Map<string, SilenceWatch>();
  private readonly stopReviving: () => void;
  private closing: Promise<void> | undefined;
  private lastError: unknown;

  constructor(
    private readonly redis: Redis | Cluster,
    private readonly timeoutMs: number,
    private readonly listener: ConnectionListener,
  ) {
    super(redis);
    if (!redis.isCluster) this.watches.set(THE_SERVER, new SilenceWatch(redis as Redis, timeoutMs));
    this.stopReviving = redis.isCluster ? ignore : reviveAfterBrokenLookUp(redis);
    redis.on('+node', (node: Redis) => {
      this.addNode(node);
    });
    redis.on('error', (error: Error) => {
      this.lastError = error;
    });
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  watchForSilence(server: string): void {
    this.watches.get(server)?.start();
  }

  protected async connect(): Promise<void> {
    if (this.redis.status !== 'wait') return;
    await waitAtMost(MAX_START_MS, this.connectAll());
    if (!this.isUsable) this.reportLost();
  }

  protected onReady(): void {
    this.lastError = undefined;
    this.listener.onReady();
  }

  protected onRefused(error: unknown): void {
    this.lastError = error;
    this.reportLost();
  }

  protected onLost(): void {
    this.reportLost();
  }

  private async connectAll(): Promise<void> {
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
    const { lastError } = this;
    const problem =
      lastError === undefined ? 'the connection is closed' : describeError(rootError(lastError));
    if (isRefusedHandshake(lastError)) this.listener.onRefused(`Redis refused the connection: ${problem}`);
    else this.listener.onLost(`Redis cannot be reached: ${problem}`);
  }

  private async end(): Promise<void> {
    this.stopReviving();
    const { status } = this.redis;
    const ended = once(this.redis, 'end').catch(ignore);
    if (status === 'ready') await waitAtMost(MAX_QUIT_MS, this.redis.quit().catch(ignore));
    this.redis.disconnect();
    // a lost connection has ended already, so it emits no further event
    if (status === 'ready' || status === 'connect') await waitAtMost(MAX_QUIT_MS, ended);
    this.detach();
  }
}

/** For a Cluster that cannot be reached: the error of its last node. */
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

function ignore(): void {
  // the state of the connection tells the outcome
}
