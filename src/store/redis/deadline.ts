import timers from 'node:timers';
import { listeningClock, type Waiting } from './listening-clock.js';

// taken from the module at load time, so that a test's fake timers cannot keep requests waiting
const { setImmediate } = timers;

/** A server did not answer within the time of a call. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';

  constructor() {
    super('timed out');
  }
}

/**
 * A time limit for all the waits of one call. It counts only time in which this process could receive the answer, so that a
 * blocked process is not mistaken for a slow server.
 */
export class Deadline {
  private readonly endsAtMs: number;

  constructor(ms: number) {
    this.endsAtMs = listeningClock.now() + ms;
  }

  /** For a request that began to wait at `queuedAtMs` of `listeningClock`. */
  static since(queuedAtMs: number, ms: number): Deadline {
    return new Deadline(ms - (listeningClock.now() - queuedAtMs));
  }

  /** Resolves with the answer; rejects with a `TimeoutError` if it does not come in time. */
  wait<T>(answer: Promise<T>, onTimeout?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const wait = new Wait(this.endsAtMs, reject, onTimeout);
      listeningClock.add(wait);
      answer.then(
        (value) => {
          wait.end();
          resolve(value);
        },
        (error: unknown) => {
          wait.end();
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is passed on as it is
          reject(error);
        },
      );
    });
  }
}

/** The wait for one answer. */
class Wait implements Waiting {
  waitIndex = -1;
  private hasEnded = false;

  constructor(
    private readonly endsAtMs: number,
    private readonly reject: (error: Error) => void,
    private readonly onTimeout: (() => void) | undefined,
  ) {}

  onTick(clockMs: number): number | undefined {
    if (clockMs < this.endsAtMs) return this.endsAtMs - clockMs;
    afterLastRead(() => {
      if (!this.hasEnded) this.onTimeout?.();
      this.reject(new TimeoutError());
    });
    return undefined;
  }

  /** The answer has come. */
  end(): void {
    this.hasEnded = true;
    listeningClock.delete(this);
  }
}

/**
 * Timers run before the sockets are read, so the answer may have arrived already: the sockets are read once more first. This
 * takes two turns, because work queued for the next turn may be what keeps the process busy.
 */
function afterLastRead(then: () => void): void {
  setImmediate(() => setImmediate(then));
}

/** Waits for a promise, but not longer than this. Ignores how it ends. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  await new Deadline(ms).wait(promise).catch(() => undefined);
}
