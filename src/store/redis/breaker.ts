/** After this many failures in a row the server is not called any more. */
const MAX_FAILURES = 5;
/** How long the server is not called before one call tries it. */
const PAUSE_MS = 1_000;
/** How often a new connection may end the pause: a connection that every call breaks is new each time. */
const PROBE_INTERVAL_MS = 250;
/** Of the calls that fail with one lost connection, only one counts in this time. */
const DISCONNECT_INTERVAL_MS = 50;

/**
 * Why a call has failed:
 * - `'permanent'`: the server returned an error, or there is no connection. The next call will fail too;
 * - `'timeout'`: the server did not answer in time. This may be chance;
 * - `'disconnected'`: the connection was lost, and may soon be back.
 */
export type FailureKind = 'permanent' | 'timeout' | 'disconnected';

type State =
  | { readonly isOpen: false; readonly failures: number }
  | { readonly isOpen: true; readonly reason: string; readonly retryAtMs: number };

const CLOSED: State = { isOpen: false, failures: 0 };

/**
 * Stops calls to a server that has failed several times in a row, and lets one call at a time find out whether it is back.
 *
 * It has no timer: it decides when it is called. It is not from a library, because those wrap each call in promises and let
 * other calls wait for the one that tries; here the others must be decided without the server at once.
 */
export class Breaker {
  private state: State = CLOSED;
  private ignoresDisconnectsUntilMs = -Infinity;
  private nextProbeAtMs = -Infinity;

  constructor(
    /** The server whose calls it stops. */
    readonly server: string,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  get isOpen(): boolean {
    return this.state.isOpen;
  }

  /** Why it is open; `undefined` while it is closed. */
  get reason(): string | undefined {
    return this.state.isOpen ? this.state.reason : undefined;
  }

  /** Whether a call may be sent. While it is open, one call after each pause. */
  admits(): boolean {
    const { state } = this;
    if (!state.isOpen) return true;
    const nowMs = this.clock();
    if (nowMs < state.retryAtMs) return false;
    this.state = { ...state, retryAtMs: nowMs + PAUSE_MS };
    return true;
  }

  /** A call has succeeded. */
  close(): void {
    this.state = CLOSED;
  }

  /** A call has failed. */
  fail(reason: string, kind: FailureKind): void {
    const nowMs = this.clock();
    if (kind === 'disconnected' && nowMs < this.ignoresDisconnectsUntilMs) return;
    this.ignoresDisconnectsUntilMs = nowMs + DISCONNECT_INTERVAL_MS;
    const { state } = this;
    if (state.isOpen) {
      this.open(state.reason);
      return;
    }
    const failures = state.failures + 1;
    if (kind === 'permanent' || failures >= MAX_FAILURES) this.open(reason);
    else this.state = { isOpen: false, failures };
  }

  /** Opens it, or begins a new pause if it is open; `reason` replaces an earlier one. */
  open(reason: string): void {
    this.state = { isOpen: true, reason, retryAtMs: this.clock() + PAUSE_MS };
  }

  /** Ends the pause, because there is a new connection: the next call tries the server. */
  allowProbe(): void {
    const { state } = this;
    const nowMs = this.clock();
    if (!state.isOpen || nowMs < this.nextProbeAtMs) return;
    this.nextProbeAtMs = nowMs + PROBE_INTERVAL_MS;
    this.state = { ...state, retryAtMs: nowMs };
  }
}
