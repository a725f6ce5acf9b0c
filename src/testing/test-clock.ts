import { toWindowMs } from '../rules/window.js';
import type { Window } from '../rules/rule.js';

/** A clock that stands still until the test moves it. Begins at 0 ms. */
export class TestClock {
  private nowMs = 0;

  /** What the clock shows, in milliseconds. Needs no `this`: it can be handed over as it is. */
  readonly now = (): number => this.nowMs;

  /**
   * Lets so much time go by, and one millisecond: a window includes its last one, so `advance('1m')` ends a window of a
   * minute.
   * @param time a text with its unit (`'500ms'`, `'10s'`, `'1m'`), or a number of seconds
   * @throws {RangeError} when it is no length of time
   */
  advance(time: Window): void {
    this.nowMs += toWindowMs(time) + 1;
  }
}
