import type { Cluster, Redis } from 'ioredis';
import { once } from 'node:events';
import { serverOf } from './cluster-nodes.js';
import { waitAtMost } from './deadline.js';
import { type ConnectionOptions, FollowedConnection } from './followed-connection.js';
import { reviveAfterBrokenLookUp } from './revive.js';
import { THE_SERVER } from './servers.js';
import { SilenceWatch } from './silence-watch.js';

const MAX_QUIT_MS = 500;

/** The connection of a client that the limiter has made, and closes. */
export class OwnConnection extends FollowedConnection {
  protected readonly isOwn = true;
  private readonly watches = new Map<string, SilenceWatch>();
  private readonly stopReviving: () => void;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly redis: Redis | Cluster,
    private readonly timeoutMs: number,
    options: ConnectionOptions,
  ) {
    super(redis, options);
    if (!redis.isCluster) this.watches.set(THE_SERVER, new SilenceWatch(redis as Redis, timeoutMs));
    this.stopReviving = redis.isCluster ? ignore : reviveAfterBrokenLookUp(redis);
    redis.on('+node', (node: Redis) => {
      this.addNode(node);
    });
  }

  close(): Promise<void> {
    this.isClosed = true;
    this.closing ??= this.end();
    return this.closing;
  }

  watchForSilence(server: string): void {
    this.watches.get(server)?.start();
  }

  protected async connect(): Promise<void> {
    try {
      await this.redis.connect();
      await this.settled;
      const nodes = this.redis.isCluster ? (this.redis as Cluster).nodes('master') : [];
      await Promise.all(nodes.map(nodeReady));
    } catch (error) {
      this.errors.note(error);
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
