import { type ClusterClient, ClusterNodes } from './cluster-nodes.js';
import { type Connection, type ConnectionListener, whyNotReady } from './connection.js';
import { ConnectionErrors, type ReportingClient } from './connection-errors.js';
import { isInItsDatabase, refusalOf, watchDatabase } from './database-check.js';
import { Deadline } from './deadline.js';
import { diagnose } from './diagnosis.js';
import { endpointsOf } from './endpoints.js';
import { connectionProblem, errorKindOf } from './errors.js';
import type { RedisClient } from './redis-option.js';
import { ReturningLink } from './returning-link.js';
import type { StartCheck } from './start-check.js';

/** How long the start of the application waits for the connection. */
const MAX_START_MS = 1_000;
/** After this time the reason is searched for. */
const DIAGNOSE_AFTER_MS = 500;
/** How long it waits with `requireStore` for a server that has not answered at all. */
const MAX_REQUIRED_START_MS = 5_000;

export interface ConnectionOptions {
  readonly listener: ConnectionListener;
  /** With `requireStore`: stops the start of an application with a wrong configuration. */
  readonly startCheck: StartCheck | undefined;
}

/** Follows the state of a client's connections, of our own client and of one that was passed as an option. */
export abstract class FollowedConnection implements Connection {
  /** Resolves when it is first known whether the connection may be used. */
  protected readonly settled: Promise<void>;
  protected readonly errors: ConnectionErrors;
  protected isClosed = false;
  private readonly nodes: ClusterNodes | undefined;
  private readonly link: ReturningLink;
  private readonly stopWatching: () => void;
  private waiting: (() => void)[] = [];
  private opening: Promise<void> | undefined;
  private isOpen = false;

  constructor(
    readonly client: RedisClient,
    private readonly options: ConnectionOptions,
  ) {
    let settle = (): void => undefined;
    this.settled = new Promise((resolve) => (settle = resolve));
    const notify = (): void => {
      this.notify();
    };
    const onLost = (): void => {
      this.reportLost();
    };
    this.errors = new ConnectionErrors(client as unknown as ReportingClient);
    this.nodes = client.isCluster ? new ClusterNodes(client as unknown as ClusterClient, notify) : undefined;
    this.link = new ReturningLink(client, onLost, notify);
    this.stopWatching = watchDatabase(client, {
      onReady: () => {
        this.errors.clear();
        options.listener.onReady();
        notify();
        settle();
      },
      onRefused: (error) => {
        this.errors.note(error);
        this.reportLost();
        notify();
        settle();
      },
    });
  }

  abstract close(): Promise<void>;
  abstract watchForSilence(server: string): void;
  /** Connects. Resolves when the connection may be used or was refused, or when the first attempt has failed. */
  protected abstract connect(): Promise<void>;
  /** Whether the loss of the connection is reported at once, and not when a request needs it. */
  protected abstract readonly isOwn: boolean;

  open(): Promise<void> {
    this.opening ??= this.start();
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

  whyNotReady(server: string): string {
    return whyNotReady(this.client, this.refusalOf(server) ?? this.errors.last);
  }

  refusalOf(server: string): unknown {
    const error = this.nodes?.errorOf(server);
    return errorKindOf(error) === 'refused' ? error : undefined;
  }

  protected detach(): void {
    this.stopWatching();
    this.link.detach();
    this.nodes?.detach();
    this.notify();
  }

  /** Whether the connection as a whole may be used. */
  protected get isUsable(): boolean {
    return this.link.isReady && isInItsDatabase(this.client);
  }

  private async start(): Promise<void> {
    const { startCheck } = this.options;
    const deadline = new Deadline(startCheck === undefined ? MAX_START_MS : MAX_REQUIRED_START_MS);
    await this.waitForConnection(deadline);
    if (this.isUsable) await startCheck?.checkCalls(deadline, (server) => this.refusalOf(server));
    else startCheck?.checkConnection(this.errors.last);
    this.isOpen = true;
    if (!this.isUsable) this.reportLost();
    this.notify();
  }

  /** Waits until the connection may be used, or until it is known why not. */
  private async waitForConnection(deadline: Deadline): Promise<void> {
    const connecting = this.connect();
    const whole = new Deadline(MAX_START_MS);
    await new Deadline(DIAGNOSE_AFTER_MS).wait(connecting).catch(ignore);
    if (!this.isUsable && this.errors.isVague) await whole.wait(this.findReason()).catch(ignore);
    if (!this.isUsable) await whole.wait(connecting).catch(ignore);
    if (!this.isUsable && this.errors.isVague) await deadline.wait(connecting).catch(ignore);
  }

  /** ioredis may know only that the connection is closed. */
  private async findReason(): Promise<void> {
    const reason = await diagnose(endpointsOf(this.client));
    if (reason !== undefined && !this.isUsable) this.errors.explain(reason);
  }

  /** Until `open` is done, the reason may still be searched for. */
  private reportLost(): void {
    if (!this.isOpen || this.isClosed) return;
    const { listener } = this.options;
    const { last: error } = this.errors;
    if (errorKindOf(error) === 'refused') listener.onRefused(connectionProblem(error));
    // the owner of another client may close it at any time, so this is logged only when a request needs it
    else if (this.isOwn) listener.onLost(connectionProblem(error));
  }

  private notify(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resume of waiting) resume();
  }
}

function ignore(): void {
  // the state of the connection tells the outcome
}
