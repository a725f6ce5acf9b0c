import { performance } from 'node:perf_hooks';
import timers from 'node:timers';

// the modules' own, and taken once, so that a test's fake timers do not keep requests waiting
const { setTimeout } = timers;
const nowMs = performance.now.bind(performance);

/** How often the clock ticks while something waits. */
const TICK_MS = 10;
/** The most that one tick counts. If the gap between two ticks is longer, the process itself was blocked. */
const MAX_GAP_MS = 25;

/** Something that waits for a server. */
export interface Waiting {
  /**
   * Called on each tick.
   * @returns milliseconds until the next tick that it needs, or `undefined` if it has stopped waiting
   */
  look(heardMs: number): number | undefined;
}

/**
 * Counts the time in which this process could receive an answer.
 *
 * A blocked process (a long turn of its event loop, a garbage collection, a suspended machine) receives nothing, and Node
 * runs due timers before it reads its sockets. So a plain timer mistakes a blocked process for a silent server. This clock
 * ticks every few milliseconds, and counts only a short time for a long gap.
 */
class ListeningClock {
  private readonly waiting = new Set<Waiting>();
  private heardMs = 0;
  private lookedAtMs = 0;
  private timer: NodeJS.Timeout | undefined;

  /** Milliseconds counted so far. Only differences have a meaning, and only while something waits. */
  now(): number {
    const now = nowMs();
    if (this.timer === undefined) this.lookedAtMs = now;
    return this.heardMs + Math.min(now - this.lookedAtMs, MAX_GAP_MS);
  }

  add(waiting: Waiting): void {
    if (this.timer === undefined) {
      this.lookedAtMs = nowMs();
      this.schedule(TICK_MS);
    }
    this.waiting.add(waiting);
  }

  delete(waiting: Waiting): void {
    // the timer ends by itself: it costs less to keep it for the next call than to make another
    this.waiting.delete(waiting);
  }

  private schedule(ms: number): void {
    this.timer = setTimeout(() => {
      this.look();
    }, ms);
  }

  private look(): void {
    this.heardMs = this.now();
    this.lookedAtMs = nowMs();
    let nextMs = TICK_MS;
    try {
      for (const waiting of this.waiting) {
        const ms = waiting.look(this.heardMs);
        if (ms === undefined) this.waiting.delete(waiting);
        else if (ms < nextMs) nextMs = ms;
      }
    } finally {
      // a clock that stopped would let every request wait without end
      if (this.waiting.size === 0) this.timer = undefined;
      else this.schedule(nextMs);
    }
  }
}

/** One for the process: when it is blocked, everything that waits is blocked. */
export const listeningClock = new ListeningClock();
