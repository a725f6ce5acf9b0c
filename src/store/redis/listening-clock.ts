import { performance } from 'node:perf_hooks';
import timers from 'node:timers';

// the modules' own, and taken once, so that a test's fake timers do not keep requests waiting
const { setTimeout } = timers;
const nowMs = performance.now.bind(performance);

/** How often the clock looks up while something waits. */
const TICK_MS = 10;
/** The most that one look counts. What lies between two looks beyond it was the process's own standstill. */
const MAX_GAP_MS = 25;

/** Something that waits for a server. */
export interface Waiting {
  /**
   * Looks at the time.
   * @returns milliseconds until it wants to look again, or `undefined` when it waits no longer
   */
  look(heardMs: number): number | undefined;
}

/**
 * Counts the time in which this process could hear an answer.
 *
 * A process that stands still (a long turn of its event loop, a garbage collection, a suspended machine) hears nothing,
 * and Node runs the timers that are due before it reads its sockets. So a plain timer takes the process's own standstill
 * for a silent server. This clock looks up every few milliseconds, and counts no gap for longer than a short one.
 */
class ListeningClock {
  private readonly waiting = new Set<Waiting>();
  private heardMs = 0;
  private lookedAtMs = 0;
  private timer: NodeJS.Timeout | undefined;

  /** Milliseconds heard so far. Only differences mean something, and only while somebody waits. */
  now(): number {
    const now = nowMs();
    if (this.timer === undefined) this.lookedAtMs = now;
    return this.heardMs + Math.min(now - this.lookedAtMs, MAX_GAP_MS);
  }

  add(waiting: Waiting): void {
    if (this.timer === undefined) {
      this.lookedAtMs = nowMs();
      this.schedule(TICK_MS);
    } else if (this.waiting.size === 0) {
      this.timer.ref();
    }
    this.waiting.add(waiting);
  }

  delete(waiting: Waiting): void {
    // the next request most likely comes before the timer, which is dearer to make than to keep
    if (this.waiting.delete(waiting) && this.waiting.size === 0) this.timer?.unref();
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
    for (const waiting of this.waiting) {
      const ms = waiting.look(this.heardMs);
      if (ms === undefined) this.waiting.delete(waiting);
      else if (ms < nextMs) nextMs = ms;
    }
    if (this.waiting.size === 0) this.timer = undefined;
    else this.schedule(nextMs);
  }
}

/** One for the process: its standstill is the same for all that waits. */
export const listeningClock = new ListeningClock();
