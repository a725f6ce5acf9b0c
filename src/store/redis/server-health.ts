import { FreqLimitError } from '../../core/errors.js';
import type { Log } from '../../core/log.js';
import type { StoreHealth } from '../../core/store.js';
import { Breaker, type FailureKind } from './breaker.js';
import type { ConnectionListener } from './connection.js';
import { errorKindOf, failureKindOf, NotReadyError, toFailure } from './errors.js';
import { OutageLog } from './outage-log.js';
import { type Servers, THE_SERVER } from './servers.js';

const TIDY_INTERVAL_MS = 1_000;

/** Which servers may be called: the breaker of each, from the outcomes of calls and the state of the connection. */
export class ServerHealth implements ConnectionListener {
  private readonly breakers = new Map<string, Breaker>();
  /** The open breakers, the longest open first. */
  private readonly open = new Set<Breaker>();
  /** The breakers of servers that a request was decided without, open or not, until they answer again. */
  private readonly lost = new Set<Breaker>();
  private readonly outages: OutageLog;
  private hasLastCallFailed = false;
  private tidiedAtMs = -Infinity;

  constructor(
    private readonly servers: Pick<Servers, 'has' | 'isCluster'>,
    log: Log,
  ) {
    this.outages = new OutageLog(log);
  }

  /**
   * The breaker of a server. Keep it until the outcome of the call: if the server is removed meanwhile, the outcome counts
   * for nothing.
   */
  breakerOf(server: string): Breaker {
    let breaker = this.breakers.get(server);
    if (breaker === undefined) {
      if (this.breakers.size > 0) this.removeStaleServers();
      breaker = new Breaker(server);
      this.breakers.set(server, breaker);
    }
    return breaker;
  }

  storeHealth(): StoreHealth {
    if (this.open.size > 0) this.removeStaleServers();
    const { reason } = this;
    const since = reason === undefined ? undefined : this.outages.since;
    return { store: 'redis', isUp: reason === undefined, reason, since };
  }

  /** The servers that are not called. */
  openServers(): string[] {
    return [...this.open].map(({ server }) => server);
  }

  /** The error of a request that is decided without Redis. */
  toError(): FreqLimitError {
    return new FreqLimitError('FREQ_LIMIT_STORE_FAILED', this.reason ?? 'Redis did not answer');
  }

  /** Logs the outage, unless it is logged already. Call it for each request that is decided without Redis. */
  logOutage(): void {
    this.outages.logIfNeeded();
  }

  /** @param changesCounters whether the call was one that changes a counter */
  noteSuccess(breaker: Breaker, changesCounters: boolean): void {
    // a server that answers a peek may still refuse charges
    if (breaker.isOpen && !changesCounters) return;
    this.hasLastCallFailed = false;
    this.close(breaker);
  }

  /** @returns the error for the requests of the call */
  noteFailure(breaker: Breaker, error: unknown): FreqLimitError {
    const failure = toFailure(error);
    // a call that was not sent says nothing about the server
    const wasSent = !(error instanceof NotReadyError);
    if (wasSent) this.hasLastCallFailed = true;
    if (wasSent && errorKindOf(error) === 'refused') this.refuse(breaker, failure.message);
    else this.noteOtherFailure(breaker, failure.message, failureKindOf(error));
    return failure;
  }

  /** Call it after each reply: while a server is lost, removes servers that no longer exist, at most once a second. */
  tidy(): void {
    if (this.lost.size === 0) return;
    const nowMs = performance.now();
    if (nowMs < this.tidiedAtMs + TIDY_INTERVAL_MS) return;
    this.tidiedAtMs = nowMs;
    this.removeStaleServers();
  }

  onReady(): void {
    for (const breaker of this.open) breaker.allowProbe();
    // a connection does not show that calls work; in a Cluster, each server has a breaker for its calls
    if (this.hasLastCallFailed && !this.servers.isCluster) return;
    this.close(this.breakerOf(THE_SERVER));
  }

  onLost(reason: string): void {
    const breaker = this.breakerOf(THE_SERVER);
    breaker.open(breaker.reason ?? reason);
    this.noteLoss(breaker, reason);
  }

  onRefused(reason: string): void {
    this.refuse(this.breakerOf(THE_SERVER), reason);
  }

  /** Why the server that is longest away is not called; `undefined` if all are called. */
  private get reason(): string | undefined {
    for (const { reason } of this.open) return reason;
    return undefined;
  }

  private noteLoss(breaker: Breaker, reason: string, isRefused = false): void {
    // a call to a server that was removed while it was in flight
    if (this.breakers.get(breaker.server) !== breaker) return;
    if (breaker.isOpen) this.open.add(breaker);
    this.lost.add(breaker);
    if (isRefused) this.outages.refuse(reason);
    else this.outages.begin(reason);
  }

  private noteOtherFailure(breaker: Breaker, reason: string, kind: FailureKind): void {
    breaker.fail(reason, kind);
    if (breaker.isOpen || kind === 'disconnected') this.noteLoss(breaker, reason);
  }

  private refuse(breaker: Breaker, reason: string): void {
    breaker.open(reason);
    this.noteLoss(breaker, reason, true);
  }

  private close(breaker: Breaker): void {
    breaker.close();
    if (this.lost.size > 0) this.forget(breaker);
  }

  private forget(breaker: Breaker): void {
    this.open.delete(breaker);
    if (this.lost.delete(breaker) && this.lost.size === 0) this.outages.end();
  }

  /** A server that was replaced will never answer again. */
  private removeStaleServers(): void {
    for (const [server, breaker] of this.breakers) {
      if (this.servers.has(server)) continue;
      this.breakers.delete(server);
      this.forget(breaker);
    }
  }
}
