import { type Boundaries, HOUR } from './boundaries.js';
import { offsetAt, offsetChange } from './time-zone.js';

// A local time is what clocks show, in milliseconds since they showed the start of 1970.

/** When periods begin in local time. The periods have numbers that increase by one. */
export interface LocalStarts {
  /** The number of the period with a local time, or of the next one. */
  numberOf(localMs: number): number;
  startOf(number: number): number;
}

/** No time zone has ever been further away from UTC. */
const MAX_OFFSET = 16 * HOUR;

/**
 * The boundaries of days and longer periods. A period begins at the first moment at which clocks show its start or a later
 * time: if they skip its start, when they go forward; if they show it twice, at the first time.
 */
export class DateBoundaries implements Boundaries {
  constructor(
    private readonly starts: LocalStarts,
    private readonly timeZone: string,
  ) {}

  lastUntil(timeMs: number): number {
    // where clocks went back over a start, the period of that start has begun already
    for (let number = this.numberAt(timeMs) + 1; ; number--) {
      const start = this.startOf(number);
      if (start <= timeMs) return start;
    }
  }

  firstAfter(timeMs: number): number {
    for (let number = this.numberAt(timeMs); ; number++) {
      const start = this.startOf(number);
      if (start > timeMs) return start;
    }
  }

  private numberAt(timeMs: number): number {
    return this.starts.numberOf(timeMs + offsetAt(this.timeZone, timeMs));
  }

  private startOf(number: number): number {
    return firstMomentOf(this.starts.startOf(number), this.timeZone);
  }
}

/** The first moment at which clocks show a local time or a later one. */
function firstMomentOf(localMs: number, timeZone: string): number {
  const [from, to] = [localMs - MAX_OFFSET, localMs + MAX_OFFSET];
  const before = offsetAt(timeZone, from);
  const after = offsetAt(timeZone, to);
  const moment = localMs - before;
  if (before === after) return moment;
  // no time zone has ever changed twice within two days
  const change = offsetChange(timeZone, from, to);
  return moment < change ? moment : Math.max(change, localMs - after);
}
