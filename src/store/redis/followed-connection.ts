import { isInItsDatabase, refusalOf, watchDatabase } from './database-check.js';
import { type ClusterClient, ClusterNodes } from './cluster-nodes.js';
import type { Connection } from './connection.js';
import type { RedisClient } from './redis-option.js';
import { ReturningLink } from './returning-link.js';

/** Follows the state of a client's connections, of our own client and of one that was passed as an option. */
export abstract class FollowedConnection implements Connection {
  /** Resolves when it is first known whether the connection may be used. */
  protected readonly settled: Promise<void>;
  private readonly nodes: ClusterNodes | undefined;
  private readonly link: ReturningLink;
  private readonly stopWatching: () => void;
  private waiting: (() => void)[] = [];
  private opening: Promise<void> | undefined;
  private isOpen = false;

  constructor(readonly client: RedisClient) {
    let settle = (): void => undefined;
    this.settled = new Promise((resolve) => (settle = resolve));
    const notify = (): void => {
      this.notify();
    };
    const onLost = (): void => {
      this.onLost();
    };
    this.nodes = client.isCluster ? new ClusterNodes(client as unknown as ClusterClient, notify) : undefined;
    this.link = new ReturningLink(client, onLost, notify);
    this.stopWatching = watchDatabase(client, {
      onReady: () => {
        this.onReady();
        notify();
        settle();
      },
      onRefused: (error) => {
        this.onRefused(error);
        notify();
        settle();
      },
    });
  }

  abstract close(): Promise<void>;
  abstract watchForSilence(server: string): void;
  /** Connects and waits until the connection is ready, for a second at most. Never rejects. */
  protected abstract connect(): Promise<void>;
  protected abstract onReady(): void;
  protected abstract onRefused(error: unknown): void;
  protected abstract onLost(): void;

  open(): Promise<void> {
    this.opening ??= this.connect().then(() => {
      this.isOpen = true;
    });
    return this.opening;
  }

  isReady(server: string): boolean {
    return this.isOpen && this.isUsable && (this.nodes?.isReady(server) ?? true);
  }

  isReturning(server: string): boolean {
    if (!this.link.isReady) return this.link.isReturning;
    // the server has not confirmed the database yet
    if (!isInItsDatabase(this.client)) return refusalOf(this.client) === undefined;
    return this.nodes?.isReturning(server) ?? false;
  }

  changed(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
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
    const { waiting } = this;
    this.waiting = [];
    for (const resume of waiting) resume();
  }
}
