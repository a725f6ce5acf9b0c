/** Calls that must fail in a row before the server is left alone. */
const MAX_FAILURES = 5;
/** How long it is left alone before one call tries it. */
const REST_MS = 1_000;
/** Hope lets one call in this time try: a connection that each call breaks gives hope at once. */
const PROBE_INTERVAL_MS = 250;
/** Of failures that come at once, only one in this time counts. */
const AT_ONCE_MS = 50;

/**
 * How a call has failed: `sure`, it will be so again; `late`, it had its time, and it may have been chance; `at once`,
 * there was no connection for it, which may be in the making.
 */
export type Failure = 'permanent' | 'timeout' | 'disconnected';

/**
 * Stops asking a server that has failed several times in a row, and lets one call at a time find out whether it is back.
 * Timer-less: it acts when it is asked. An own one, since those of libraries wrap a call in promises of their own and
 * let the other callers wait for the one that tries; here they must be answered without the server at once.
 */
export class Breaker {
  private failures = 0;
  private countsFromMs = -Infinity;
  private restsUntilMs: number | undefined;
  private hopesFromMs = -Infinity;

  constructor(
    /** Told what it opened for, or that it closed. */
    private readonly onChange: (breaker: Breaker, reason: string | undefined) => void,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  get isOpen(): boolean {
    return this.restsUntilMs !== undefined;
  }

  /** Whether a call may go out. While it is open, one in each rest. */
  admits(): boolean {
    if (this.restsUntilMs === undefined) return true;
    const nowMs = this.clock();
    if (nowMs < this.restsUntilMs) return false;
    this.restsUntilMs = nowMs + REST_MS;
    return true;
  }

  succeed(): void {
    this.failures = 0;
    if (this.restsUntilMs === undefined) return;
    this.restsUntilMs = undefined;
    this.onChange(this, undefined);
  }

  fail(reason: string, failure: Failure): void {
    const nowMs = this.clock();
    if (failure === 'disconnected' && nowMs < this.countsFromMs) return;
    this.countsFromMs = nowMs + AT_ONCE_MS;
    this.failures++;
    if (failure === 'permanent' || this.isOpen || this.failures >= MAX_FAILURES) this.open(reason);
  }

  /** For one who knows: the connection is lost. */
  open(reason: string): void {
    const wasOpen = this.isOpen;
    this.restsUntilMs = this.clock() + REST_MS;
    if (!wasOpen) this.onChange(this, reason);
  }

  /** For one who has reason to hope: the next call tries. */
  allowProbe(): void {
    const nowMs = this.clock();
    if (this.restsUntilMs === undefined || nowMs < this.hopesFromMs) return;
    this.hopesFromMs = nowMs + PROBE_INTERVAL_MS;
    this.restsUntilMs = nowMs;
  }
}
