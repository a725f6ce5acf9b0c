import { Temporal } from 'temporal-polyfill';
import type { CalendarPeriod } from '../../../../src/core/counter-kind.js';

/** The dates at which some periods around a date begin, in order. */
type StartsAround = (date: Temporal.PlainDate) => Temporal.PlainDateTime[];

/** The period with a time, worked out with Temporal from the dates at which periods begin. */
export function periodByTemporal(
  startsAround: StartsAround,
  timeZone: string,
  nowMs: number,
): CalendarPeriod {
  const today = zoned(timeZone, nowMs).toPlainDate();
  const moments = startsAround(today).map((start) => firstMomentOf(start, timeZone));
  const after = (ms: number): number => moments.find((moment) => moment > ms) ?? NaN;
  const endsAtMs = after(nowMs);
  return {
    type: 'calendar',
    startsAtMs: moments.findLast((moment) => moment <= nowMs) ?? NaN,
    endsAtMs,
    nextEndsAtMs: after(endsAtMs),
  };
}

export function days(startsAt: string): StartsAround {
  return (date) => around(4, (i) => date.add({ days: i }).toPlainDateTime(startsAt));
}

/** @param first the first day of the week; 1 is Monday */
export function weeks(first: number): StartsAround {
  return (date) => {
    const day = date.subtract({ days: (date.dayOfWeek - first + 7) % 7 });
    return around(3, (i) => day.add({ weeks: i }).toPlainDateTime());
  };
}

export function months(day: number): StartsAround {
  return (date) => around(3, (i) => date.with({ day: 1 }).add({ months: i }).with({ day }).toPlainDateTime());
}

export function years(month: number, day: number): StartsAround {
  return (date) =>
    around(3, (i) => Temporal.PlainDate.from({ year: date.year + i, month, day }).toPlainDateTime());
}

/** All moments from one time to another at which clocks show a multiple of a number of minutes. */
export function fullMinutes(timeZone: string, minutes: number, fromMs: number, toMs: number): number[] {
  const found: number[] = [];
  for (let ms = Math.ceil(fromMs / 60_000) * 60_000; ms <= toMs; ms += 60_000) {
    const { minute, second } = zoned(timeZone, ms);
    if (second !== 0) throw new Error(`${timeZone} has an offset with seconds at ${ms}`);
    if (minute % minutes === 0) found.push(ms);
  }
  return found;
}

/** The first change of the clocks after a time. */
export function nextChange(timeZone: string, ms: number): number | undefined {
  return zoned(timeZone, ms).getTimeZoneTransition('next')?.epochMilliseconds;
}

/** By how much clocks are ahead of UTC, in milliseconds. */
export function offsetByTemporal(timeZone: string, ms: number): number {
  return zoned(timeZone, ms).offsetNanoseconds / 1e6;
}

function firstMomentOf(local: Temporal.PlainDateTime, timeZone: string): number {
  const moment = local.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  // what clocks skip is moved back by the length of the gap, to a moment before it
  const isSkipped = !moment.toPlainDateTime().equals(local);
  const first = isSkipped ? moment.getTimeZoneTransition('next') : moment;
  return first?.epochMilliseconds ?? NaN;
}

function zoned(timeZone: string, ms: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
}

function around<T>(reach: number, make: (i: number) => T): T[] {
  return Array.from({ length: 2 * reach + 1 }, (_, i) => make(i - reach));
}
