import type { Boundaries } from './boundaries.js';
import { offsetAt, offsetChange } from './time-zone.js';

/**
 * The boundaries of minutes and hours: the moments at which clocks show a full minute or hour. If clocks go back from 3:00 to
 * 2:00, two periods begin at 2:00. If the offset changes by half an hour, the period with the change is longer.
 * @param lengthMs the length of a minute or an hour
 */
export class ClockBoundaries implements Boundaries {
  constructor(
    private readonly lengthMs: number,
    private readonly timeZone: string,
  ) {}

  lastUntil(timeMs: number): number {
    const { lengthMs, timeZone } = this;
    const offset = offsetAt(timeZone, timeMs);
    const start = floorTo(timeMs + offset, lengthMs) - offset;
    const before = offsetAt(timeZone, start);
    if (before === offset) return start;
    const lastBefore = offsetChange(timeZone, start, timeMs) - 1;
    return floorTo(lastBefore + before, lengthMs) - before;
  }

  firstAfter(timeMs: number): number {
    const { lengthMs, timeZone } = this;
    const offset = offsetAt(timeZone, timeMs);
    const end = floorTo(timeMs + offset, lengthMs) + lengthMs - offset;
    const after = offsetAt(timeZone, end);
    if (after === offset) return end;
    const change = offsetChange(timeZone, timeMs, end);
    return floorTo(change + after + lengthMs - 1, lengthMs) - after;
  }
}

function floorTo(value: number, step: number): number {
  return Math.floor(value / step) * step;
}
