import type { StoreHealth, StoreLog } from '../store.js';
import { Breaker } from './breaker.js';

const TIDY_MS = 1_000;

/** The breakers of the servers, and what the operator hears of them: a line when something is lost, one when all is well. */
export class Outage {
  private readonly breakers = new Map<string, Breaker>();
  /** The breakers that are open, and why, the longest open first. */
  private readonly open = new Map<Breaker, string>();
  private tidiedMs = -Infinity;
  /** When the first of them opened, and why. */
  private began: { readonly since: Date; readonly reason: string } | undefined;

  constructor(
    private readonly log: StoreLog,
    /** Whether a server has anything to do with us still. */
    private readonly isOurs: (server: string) => boolean,
  ) {}

  /** The breaker of a server. */
  breakerOf(server: string): Breaker {
    let breaker = this.breakers.get(server);
    if (breaker === undefined) {
      if (this.breakers.size > 0) this.forgetStrangers();
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
    if (this.open.size > 0) this.forgetStrangers();
    const { reason } = this;
    return { store: 'redis', isUp: reason === undefined, reason, since: this.began?.since };
  }

  /** To be called now and then while something is open: looks through them once a second. */
  tidy(): void {
    const nowMs = performance.now();
    if (this.open.size === 0 || nowMs < this.tidiedMs + TIDY_MS) return;
    this.tidiedMs = nowMs;
    this.forgetStrangers();
  }

  /** The connection as a whole is back: what is open may be tried at once. */
  hope(): void {
    for (const breaker of this.open.keys()) breaker.hope();
  }

  /** Opens a breaker for a reason that is the operator's to mend, and tells it though the outage began with another. */
  refuse(breaker: Breaker, reason: string): void {
    breaker.open(reason);
    if (this.open.get(breaker) === reason) return;
    this.open.set(breaker, reason);
    this.log.error(reason);
  }

  /** A server that was replaced will never answer again. */
  private forgetStrangers(): void {
    for (const [server, breaker] of this.breakers) {
      if (this.isOurs(server)) continue;
      if (breaker.isOpen) this.note(breaker, undefined);
      this.breakers.delete(server);
    }
  }

  private note(breaker: Breaker, reason: string | undefined): void {
    // a call that was on its way to a server which is forgotten since
    if (![...this.breakers.values()].includes(breaker)) return;
    if (reason === undefined) this.noteReturn(breaker);
    else this.noteLoss(breaker, reason);
  }

  private noteLoss(breaker: Breaker, reason: string): void {
    this.open.set(breaker, reason);
    if (this.began !== undefined) return;
    this.began = { since: new Date(), reason };
    this.log.error(`Redis is not asked any more, onStoreError decides until it answers again: ${reason}`);
  }

  private noteReturn(breaker: Breaker): void {
    this.open.delete(breaker);
    if (this.open.size > 0 || this.began === undefined) return;
    const { since, reason } = this.began;
    const seconds = ((Date.now() - since.getTime()) / 1_000).toFixed(1);
    this.began = undefined;
    this.log.warn(`Redis answers again, after ${seconds} s: ${reason}`);
  }
}
