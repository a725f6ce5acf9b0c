import { performance } from 'node:perf_hooks';
import timers from 'node:timers';

// taken from the modules at load time, so that a test's fake timers cannot keep requests waiting
const { setTimeout } = timers;
const nowMs = performance.now.bind(performance);

/** How often the clock ticks while something waits. */
const TICK_MS = 10;
/** The most that one tick counts. If the gap between two ticks is longer, the process itself was blocked. */
const MAX_GAP_MS = 25;

/** Something that waits for an answer of a server. */
export interface Waiting {
  /** Its place in the clock's list; -1 while it does not wait. Only the clock changes it. */
  waitIndex: number;
  /**
   * Called on each tick.
   * @returns milliseconds until the next tick that it needs, or `undefined` if it has stopped waiting
   */
  onTick(clockMs: number): number | undefined;
}

/**
 * Counts the time in which this process could receive an answer.
 *
 * A blocked process (a long turn of its event loop, a garbage collection, a suspended machine) receives nothing, and Node
 * runs due timers before it reads its sockets. So a plain timer mistakes a blocked process for a silent server. This clock
 * ticks every few milliseconds, and counts only a short time for a long gap.
 */
class ListeningClock {
  // not a Set, which makes new tables again and again when entries come and go
  private readonly waiting: Waiting[] = [];
  private countedMs = 0;
  private tickedAtMs = 0;
  private timer: NodeJS.Timeout | undefined;

  /** Milliseconds counted so far. Only differences have a meaning, and only while something waits. */
  now(): number {
    const now = nowMs();
    if (this.timer === undefined) this.tickedAtMs = now;
    return this.countedMs + Math.min(now - this.tickedAtMs, MAX_GAP_MS);
  }

  add(waiting: Waiting): void {
    if (this.timer === undefined) {
      this.tickedAtMs = nowMs();
      this.schedule(TICK_MS);
    }
    if (waiting.waitIndex === -1) waiting.waitIndex = this.waiting.push(waiting) - 1;
  }

  delete(waiting: Waiting): void {
    const { waitIndex } = waiting;
    if (waitIndex === -1) return;
    waiting.waitIndex = -1;
    // the last one takes its place; the timer ends by itself: keeping it for the next call costs less than another one
    const last = this.waiting.pop();
    if (last === undefined || last === waiting) return;
    last.waitIndex = waitIndex;
    this.waiting[waitIndex] = last;
  }

  private schedule(ms: number): void {
    this.timer = setTimeout(() => {
      this.tick();
    }, ms);
  }

  private tick(): void {
    this.countedMs = this.now();
    this.tickedAtMs = nowMs();
    let nextMs = TICK_MS;
    try {
      // a copy, because a tick may end other waits
      for (const waiting of [...this.waiting]) {
        if (waiting.waitIndex === -1) continue;
        const ms = waiting.onTick(this.countedMs);
        if (ms === undefined) this.delete(waiting);
        else if (ms < nextMs) nextMs = ms;
      }
    } finally {
      // if the clock stopped, every request would wait forever
      if (this.waiting.length === 0) this.timer = undefined;
      else this.schedule(nextMs);
    }
  }
}

/** One for the process: when the process is blocked, everything that waits is blocked. */
export const listeningClock = new ListeningClock();
