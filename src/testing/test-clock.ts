import { toWindowMs } from '../rules/window.js';
import type { Window } from '../rules/rule.js';

/** A clock for `useMemoryStore` that only `advance` moves. */
export class TestClock {
  private nowMs = 0;

  /** The time in milliseconds. Starts at 0. Can be passed as a function: it needs no `this`. */
  readonly now = (): number => this.nowMs;

  /**
   * Moves the clock by this time and one millisecond more. A window includes its last millisecond, so `advance('1m')` ends
   * a window of a minute.
   * @param time a string with a unit (`'500ms'`, `'10s'`, `'1m'`), or a number of seconds
   * @throws {RangeError} if it is not a valid time
   */
  advance(time: Window): void {
    this.nowMs += toWindowMs(time) + 1;
  }
}
