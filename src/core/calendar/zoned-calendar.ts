import { BoundedMap } from '../bounded-map.js';
import type { CalendarPeriod } from '../counter-kind.js';
import { mismatch } from '../validate.js';
import type { Boundaries } from './boundaries.js';
import type { Calendar } from './calendar.js';
import { TIME_ZONE } from './time-zone.js';

/** A calendar in a time zone. It keeps the current period, so that a request computes nothing. */
export class ZonedCalendar {
  /**
   * Distinguishes the counters of this calendar from others: `month@utc`, `month+15@europe/berlin`. Of letters, digits and
   * `+ - _ / @`.
   *
   * The time zone is as the user writes it, in lower case. An alias such as `Asia/Calcutta` stays: which of two names
   * `Intl` prefers depends on the version of Node.js and its data, and counts would be lost when that changes.
   */
  readonly id: string;
  /** For people: `per month, Europe/Berlin`. */
  readonly text: string;
  private readonly boundaries: Boundaries;
  private period: CalendarPeriod = { type: 'calendar', startsAtMs: 0, endsAtMs: 0, nextEndsAtMs: 0 };

  constructor(calendar: Calendar, timeZone: string) {
    this.id = `${calendar.id}@${timeZone.toLowerCase()}`;
    this.text = `${calendar.text}, ${timeZone}`;
    this.boundaries = calendar.boundariesIn(timeZone);
  }

  /** The period with a time, and the end of the next one. The start of a period belongs to it, its end does not. */
  periodAt(nowMs: number): CalendarPeriod {
    const { startsAtMs, endsAtMs } = this.period;
    if (nowMs < startsAtMs || nowMs >= endsAtMs) this.period = this.compute(nowMs);
    return this.period;
  }

  private compute(nowMs: number): CalendarPeriod {
    // the search for a change of the offset needs whole milliseconds, and a test may set the clock to others
    const ms = Math.floor(nowMs);
    const endsAtMs = this.boundaries.firstAfter(ms);
    return {
      type: 'calendar',
      startsAtMs: this.boundaries.lastUntil(ms),
      endsAtMs,
      nextEndsAtMs: this.boundaries.firstAfter(endsAtMs),
    };
  }
}

/** An application has few of them, but the name of a time zone may come from a client. */
const known = new BoundedMap<string, ZonedCalendar>(1_000);

/**
 * A calendar in a time zone: the same object as before, if there was one lately.
 * @throws {TypeError} if it is not a time zone; the message says what to write
 */
export function zonedCalendar(calendar: Calendar, timeZone: unknown): ZonedCalendar {
  if (typeof timeZone !== 'string') throw new TypeError(mismatch(timeZone, TIME_ZONE));
  const key = `${calendar.id}@${timeZone}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  if (!TIME_ZONE.test(timeZone)) throw new TypeError(mismatch(timeZone, TIME_ZONE));
  return known.add(key, new ZonedCalendar(calendar, timeZone));
}
