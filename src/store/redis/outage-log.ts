import type { Log } from '../../core/log.js';

/** How many outages are logged in a minute: a connection may come and go many times in a second. */
const MAX_OUTAGES_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

interface Outage {
  readonly since: Date;
  readonly startedAtMs: number;
  readonly reason: string;
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
  begin(reason: string): void {
    if (this.outage !== undefined) return;
    this.outage = { since: new Date(), startedAtMs: performance.now(), reason, isLogged: false };
    this.logIfNeeded();
  }

  /** Logs the outage, unless it is logged already, or too many others were in this minute. Call it for each request. */
  logIfNeeded(): void {
    if (this.outage === undefined || this.outage.isLogged || !this.mayLog()) return;
    this.outage.isLogged = true;
    this.log.error(
      'FREQ_LIMIT_STORE_UNAVAILABLE',
      `Redis is unavailable; applying onStoreError until it recovers: ${this.outage.reason}`,
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
