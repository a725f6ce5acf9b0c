import type { Log } from '../../core/log.js';

/** How many outages are logged in a minute: a connection may come and go many times in a second. */
const MAX_OUTAGES_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

/** How many refusals of one outage are logged. In a Cluster each server may have another one. */
const MAX_REFUSALS = 10;

interface Outage {
  readonly since: Date;
  readonly startedAtMs: number;
  reason: string;
  /** The refusals so far, each logged at most once. */
  readonly refusals: Set<string>;
  isLogged: boolean;
}

/** Logs when requests begin to be decided without Redis, and when Redis is back: both or neither. */
export class OutageLog {
  private outage: Outage | undefined;
  private loggedInMinute = 0;
  private minuteEndsAtMs = -Infinity;

  constructor(private readonly log: Log) {}

  /** When the outage began; `undefined` if there is none. */
  get since(): Date | undefined {
    return this.outage?.since;
  }

  /** Begins an outage, unless there is one. */
  begin(reason: string, refusals = new Set<string>()): void {
    if (this.outage !== undefined) return;
    this.outage = { since: new Date(), startedAtMs: performance.now(), reason, refusals, isLogged: false };
    this.logIfNeeded();
  }

  /** Begins an outage because Redis refuses the limiter. During another outage it is logged too: an operator must fix it. */
  refuse(reason: string): void {
    const { outage } = this;
    if (outage === undefined) {
      this.begin(reason, new Set([reason]));
      return;
    }
    if (outage.refusals.has(reason) || outage.refusals.size >= MAX_REFUSALS) return;
    outage.refusals.add(reason);
    if (outage.isLogged) {
      this.log.error('FREQ_LIMIT_STORE_REFUSED', reason);
      return;
    }
    outage.reason = reason;
    this.logIfNeeded();
  }

  /** Logs the outage, unless it is logged already, or too many others were in this minute. Call it for each request. */
  logIfNeeded(): void {
    const { outage } = this;
    if (outage === undefined || outage.isLogged || !this.mayLog()) return;
    outage.isLogged = true;
    this.log.error(
      outage.refusals.size > 0 ? 'FREQ_LIMIT_STORE_REFUSED' : 'FREQ_LIMIT_STORE_UNAVAILABLE',
      `Redis is unavailable; applying onStoreError until it recovers: ${outage.reason}`,
    );
  }

  end(): void {
    if (this.outage === undefined) return;
    const { startedAtMs, reason, isLogged } = this.outage;
    const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
    this.outage = undefined;
    if (isLogged)
      this.log.warn('FREQ_LIMIT_STORE_RECOVERED', `Redis is available again after ${seconds} s: ${reason}`);
  }

  private mayLog(): boolean {
    const nowMs = performance.now();
    if (nowMs >= this.minuteEndsAtMs) {
      this.minuteEndsAtMs = nowMs + MINUTE_MS;
      this.loggedInMinute = 0;
    }
    return ++this.loggedInMinute <= MAX_OUTAGES_PER_MINUTE;
  }
}
