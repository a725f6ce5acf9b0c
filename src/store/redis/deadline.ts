import timers from 'node:timers';
import { listeningClock } from './listening-clock.js';

// the module's own, and taken once, so that a test's fake timers do not keep requests waiting
const { setImmediate } = timers;

/** A server was silent for as long as a call may take. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';

  constructor() {
    super('no answer in time');
  }
}

/**
 * A limit for all the waits on a server that one call consists of. It counts only the time in which this process could
 * have heard the answer, so that its own standstill is never the server's fault.
 */
export class Deadline {
  private readonly endsAtMs: number;

  constructor(ms: number) {
    this.endsAtMs = listeningClock.now() + ms;
  }

  /** For a request that has waited since a moment of `listeningClock`. */
  static since(startMs: number, ms: number): Deadline {
    return new Deadline(ms - (listeningClock.now() - startMs));
  }

  /** The answer, or a rejection with a `TimeoutError` when it does not come in time. */
  wait<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = {
        look: (heardMs: number): number | undefined => {
          const leftMs = this.endsAtMs - heardMs;
          if (leftMs > 0) return leftMs;
          afterLastLook(() => {
            reject(new TimeoutError());
          });
          return undefined;
        },
      };
      listeningClock.add(waiting);
      answer.then(
        (value) => {
          listeningClock.delete(waiting);
          resolve(value);
        },
        (error: unknown) => {
          listeningClock.delete(waiting);
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is passed on as it is
          reject(error);
        },
      );
    });
  }
}

/**
 * Timers run before the sockets are read, so an answer may be there already: the sockets are read once more first. Two
 * turns away, since what else waits for the next one may be the very thing that keeps the process busy.
 */
function afterLastLook(then: () => void): void {
  setImmediate(() => setImmediate(then));
}
