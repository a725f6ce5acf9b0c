import type { StoreHealth, StoreLog } from '../../core/store.js';
import { Breaker } from './breaker.js';

const TIDY_MS = 1_000;
/** The maximum number of outages that are logged in a minute: a connection may come and go many times in a second. */
const MAX_LINES_A_MINUTE = 10;
const MINUTE_MS = 60_000;

/** The breakers of the servers, and what the operator hears of them: a line when something is lost, one when all is well. */
export class ServerHealth {
  private readonly breakers = new Map<string, Breaker>();
  /** The breakers that are open, and why, the longest open first. */
  private readonly open = new Map<Breaker, string>();
  /** Breakers of servers that were unavailable for a request, until they answer again. */
  private readonly lost = new Set<Breaker>();
  private tidiedMs = -Infinity;
  /** When requests began to be decided without a server, and why. */
  private outage:
    { readonly since: Date; readonly sinceMs: number; readonly reason: string; isTold: boolean } | undefined;
  private told = 0;
  private countsToldUntilMs = -Infinity;

  constructor(
    private readonly log: StoreLog,
    /** Whether a server has anything to do with us still. */
    private readonly isOurs: (server: string) => boolean,
  ) {}

  /** The breaker of a server. */
  breakerOf(server: string): Breaker {
    let breaker = this.breakers.get(server);
    if (breaker === undefined) {
      if (this.breakers.size > 0) this.removeStaleServers();
      breaker = new Breaker((one, reason) => {
        this.note(one, reason);
      });
      this.breakers.set(server, breaker);
    }
    return breaker;
  }

  /** Why the server that is longest away is not asked; `undefined` where all are. */
  get reason(): string | undefined {
    const [reason] = this.open.values();
    return reason;
  }

  health(): StoreHealth {
    if (this.open.size > 0) this.removeStaleServers();
    const { reason } = this;
    const since = reason === undefined ? undefined : this.outage?.since;
    return { store: 'redis', isUp: reason === undefined, reason, since };
  }

  /** The servers that are not called. */
  *openServers(): Iterable<string> {
    if (this.open.size === 0) return;
    for (const [server, breaker] of this.breakers) if (breaker.isOpen) yield server;
  }

  /** Call it now and then while a server is lost: at most once a second it removes servers that no longer exist. */
  tidy(): void {
    const nowMs = performance.now();
    if (this.lost.size === 0 || nowMs < this.tidiedMs + TIDY_MS) return;
    this.tidiedMs = nowMs;
    this.removeStaleServers();
  }

  /** The connection as a whole is back: what is open may be tried at once. */
  allowProbe(): void {
    for (const breaker of this.open.keys()) breaker.allowProbe();
  }

  /** Opens a breaker for a reason that an operator must fix, and logs it even if the outage began with another reason. */
  refuse(breaker: Breaker, reason: string): void {
    breaker.open(reason);
    if (this.open.get(breaker) === reason) return;
    this.open.set(breaker, reason);
    this.log.error(reason);
  }

  /** A server that was replaced will never answer again. */
  private removeStaleServers(): void {
    for (const [server, breaker] of this.breakers) {
      if (this.isOurs(server)) continue;
      this.open.delete(breaker);
      this.breakers.delete(server);
      this.forget(breaker);
    }
  }

  private forget(breaker: Breaker): void {
    if (this.lost.delete(breaker) && this.lost.size === 0) this.tellReturn();
  }

  private note(breaker: Breaker, reason: string | undefined): void {
    if (!this.isKnown(breaker)) return;
    if (reason === undefined) {
      this.open.delete(breaker);
      this.noteReturn(breaker);
    } else {
      this.open.set(breaker, reason);
      this.noteLoss(breaker, reason);
    }
  }

  /** A request was decided without this server. Logs the first time. */
  noteLoss(breaker: Breaker, reason: string): void {
    if (!this.isKnown(breaker)) return;
    this.lost.add(breaker);
    if (this.outage !== undefined) return;
    this.outage = { since: new Date(), sinceMs: performance.now(), reason, isTold: false };
    this.remind();
  }

  /** To be called for a request that is decided without a server: tells what was not told among many short outages. */
  remind(): void {
    if (this.outage === undefined || this.outage.isTold || !this.maySpeak()) return;
    const { reason } = this.outage;
    this.outage.isTold = true;
    this.log.error(`Redis is not asked any more, onStoreError decides until it answers again: ${reason}`);
  }

  private maySpeak(): boolean {
    const nowMs = performance.now();
    if (nowMs >= this.countsToldUntilMs) {
      this.countsToldUntilMs = nowMs + MINUTE_MS;
      this.told = 0;
    }
    return ++this.told <= MAX_LINES_A_MINUTE;
  }

  /** This server answers. Logs when no other server is lost. */
  noteReturn(breaker: Breaker): void {
    if (this.lost.size > 0 && !breaker.isOpen) this.forget(breaker);
  }

  /** False for a call in flight to a server that was removed meanwhile. */
  private isKnown(breaker: Breaker): boolean {
    return [...this.breakers.values()].includes(breaker);
  }

  private tellReturn(): void {
    if (this.outage === undefined) return;
    const { sinceMs, reason, isTold } = this.outage;
    const seconds = ((performance.now() - sinceMs) / 1_000).toFixed(1);
    this.outage = undefined;
    if (isTold) this.log.warn(`Redis answers again, after ${seconds} s: ${reason}`);
  }
}
