import type { StoreHealth, StoreLog } from '../store.js';
import { Breaker } from './breaker.js';

/** The breakers of the servers, and what the operator hears of them: a line when something is lost, one when all is well. */
export class Outage {
  private readonly breakers = new Map<string, Breaker>();
  private readonly open = new Set<Breaker>();
  private reason: string | undefined;
  private since: Date | undefined;

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

  health(): StoreHealth {
    if (this.open.size > 0) this.forgetStrangers();
    const { reason, since } = this;
    return { store: 'redis', isUp: this.open.size === 0, reason, since };
  }

  /** The connection as a whole is back: what is open may be tried at once. */
  hope(): void {
    for (const breaker of this.open) breaker.hope();
  }

  /** A server that was replaced will never answer again, and of one that nobody has asked for long nothing is known. */
  private forgetStrangers(): void {
    for (const [server, breaker] of this.breakers) {
      if (this.isOurs(server) && !breaker.isForgotten) continue;
      this.breakers.delete(server);
      if (breaker.isOpen) this.note(breaker, undefined);
    }
  }

  private note(breaker: Breaker, reason: string | undefined): void {
    if (reason !== undefined) {
      this.open.add(breaker);
      if (this.since !== undefined) return;
      this.since = new Date();
      this.reason = reason;
      this.log.error(`Redis is not asked any more, onStoreError decides until it answers again: ${reason}`);
      return;
    }
    this.open.delete(breaker);
    if (this.open.size > 0 || this.since === undefined) return;
    const seconds = ((Date.now() - this.since.getTime()) / 1_000).toFixed(1);
    this.log.warn(`Redis answers again, after ${seconds} s: ${this.reason}`);
    this.since = undefined;
    this.reason = undefined;
  }
}
