import timers from 'node:timers';
import { listeningClock } from './listening-clock.js';

// the module's own, and taken once, so that a test's fake timers do not keep requests waiting
const { setImmediate } = timers;

/** A server did not answer within the time of a call. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';

  constructor() {
    super('no answer in time');
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

  /** For a request that began to wait at `startMs` of `listeningClock`. */
  static since(startMs: number, ms: number): Deadline {
    return new Deadline(ms - (listeningClock.now() - startMs));
  }

  /** Resolves with the answer; rejects with a `TimeoutError` if it does not come in time. */
  wait<T>(answer: Promise<T>, onTimeout?: () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const waiting = {
        look: (heardMs: number): number | undefined => {
          const leftMs = this.endsAtMs - heardMs;
          if (leftMs > 0) return leftMs;
          afterLastLook(() => {
            if (!isSettled) onTimeout?.();
            reject(new TimeoutError());
          });
          return undefined;
        },
      };
      listeningClock.add(waiting);
      answer.then(
        (value) => {
          isSettled = true;
          listeningClock.delete(waiting);
          resolve(value);
        },
        (error: unknown) => {
          isSettled = true;
          listeningClock.delete(waiting);
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is passed on as it is
          reject(error);
        },
      );
    });
  }
}

/**
 * Timers run before the sockets are read, so the answer may have arrived already: the sockets are read once more first. Two
 * turns later, because work queued for the next turn may be what keeps the process busy.
 */
function afterLastLook(then: () => void): void {
  setImmediate(() => setImmediate(then));
}
