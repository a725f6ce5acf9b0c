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
  /** By `listeningClock`. */
  readonly endsAtMs: number;

  constructor(ms: number) {
    this.endsAtMs = listeningClock.now() + ms;
  }

  /** For a request that began to wait at `queuedAtMs` of `listeningClock`. */
  static since(queuedAtMs: number, ms: number): Deadline {
    return new Deadline(ms - (listeningClock.now() - queuedAtMs));
  }

  /** Resolves with the answer; rejects with a `TimeoutError` if it does not come in time. */
  wait<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      new PromisedWait(this, resolve, reject).follow(answer);
    });
  }
}

/**
 * A wait for one answer. It ends once: with the answer, its error, or a `TimeoutError`. It is not a promise, because each call
 * has one, and promises around the one of the client would cost more than the rest of it.
 */
export abstract class Wait<T> implements Waiting {
  waitIndex = -1;
  private hasEnded = false;

  constructor(private readonly deadline: Deadline) {}

  /** Waits for an answer. May be called again by `onError`: the deadline stays the same. */
  follow(answer: Promise<T>): void {
    this.hasEnded = false;
    answer.then(
      (value) => {
        if (this.end()) this.onAnswer(value);
      },
      (error: unknown) => {
        if (this.end()) this.onError(error);
      },
    );
    // after the line above, which throws if a client of the application returns no promise
    listeningClock.add(this);
  }

  onTick(clockMs: number): number | undefined {
    const { endsAtMs } = this.deadline;
    if (clockMs < endsAtMs) return endsAtMs - clockMs;
    afterLastRead(() => {
      if (this.end()) this.onTimeout(new TimeoutError());
    });
    return undefined;
  }

  protected abstract onAnswer(value: T): void;
  protected abstract onError(error: unknown): void;

  protected onTimeout(error: TimeoutError): void {
    this.onError(error);
  }

  /** Returns whether it has not ended before. */
  private end(): boolean {
    if (this.hasEnded) return false;
    this.hasEnded = true;
    listeningClock.delete(this);
    return true;
  }
}

class PromisedWait<T> extends Wait<T> {
  constructor(
    deadline: Deadline,
    protected readonly onAnswer: (value: T) => void,
    protected readonly onError: (error: unknown) => void,
  ) {
    super(deadline);
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
