import type { CounterKind } from '../core/counter-kind.js';
import { formatForLog } from '../core/errors.js';
import { mismatch, oneOf } from '../core/validate.js';
import type { FromContext } from './key/key-types.js';

// The only file that knows where the calendar is. Until that part is here, it contains a calendar that knows UTC alone.

/** A window that begins and ends with the calendar, such as `{ calendar: 'month', timeZone: 'Europe/Berlin' }`. */
export interface CalendarWindow {
  /** The unit of the calendar. */
  readonly calendar: CalendarUnit;
  /**
   * The time zone, as a name of the IANA database, or a function that returns one.
   * @default 'UTC'
   */
  readonly timeZone?: string | FromContext<string> | undefined;
  /**
   * When the window begins, such as a billing day.
   * @default when the unit of the calendar begins
   */
  readonly startsAt?: string | number | undefined;
}

export type CalendarUnit = (typeof UNITS)[number];

/** A division of time into periods. */
export interface Calendar {
  readonly unit: CalendarUnit;
  /** Distinguishes calendars in keys: `month`, `month+15`. */
  readonly id: string;
  /** For people: `per month from day 15`. */
  readonly text: string;
}

/** A checked window of the calendar. */
export interface ReadCalendarWindow {
  readonly calendar: Calendar;
  /** A known time zone, or the function that returns one. */
  readonly timeZone: string | FromContext<unknown>;
}

export type CalendarPeriod = Extract<CounterKind, { readonly type: 'calendar' }>;

/** A calendar in a time zone. */
export interface ZonedCalendar {
  /** Distinguishes the counters of this calendar: `month@utc`. */
  readonly id: string;
  /** For people: `per month, UTC`. */
  readonly text: string;
  /** The period with a time in milliseconds since 1970: the same object until it ends. */
  periodAt(nowMs: number): CalendarPeriod;
}

export const UNITS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;

/** The time in milliseconds since 1970. Looked up at each call, so that it follows a test's fake timers. */
export function timeOfDay(): number {
  return Date.now();
}

/** Whether a value is meant as a window of the calendar, right or wrong. */
export function looksLikeCalendarWindow(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'calendar' in value;
}

/**
 * Checks a window of the calendar.
 * @throws {TypeError} if it is wrong; the message names the option, what is wrong and what to write
 */
export function readCalendarWindow(given: object): ReadCalendarWindow {
  const { calendar, timeZone = 'UTC', startsAt } = given as Readonly<Record<string, unknown>>;
  const unit = oneOf(...UNITS);
  if (!unit.test(calendar)) throw new TypeError(`calendar: ${mismatch(calendar, unit)}`);
  if (startsAt !== undefined) throw new TypeError('startsAt: is not possible yet');
  if (typeof timeZone !== 'function' && timeZone !== 'UTC')
    throw new TypeError(`timeZone: ${notATimeZone(timeZone)}`);
  return {
    calendar: { unit: calendar, id: calendar, text: `per ${calendar}` },
    timeZone: timeZone as ReadCalendarWindow['timeZone'],
  };
}

/**
 * A calendar in a time zone.
 * @throws {TypeError} if it is not a time zone; the message says what to write
 */
export function zonedCalendar({ unit, id, text }: Calendar, timeZone: unknown): ZonedCalendar {
  if (timeZone !== 'UTC') throw new TypeError(notATimeZone(timeZone));
  let period: CalendarPeriod = { type: 'calendar', startsAtMs: 0, endsAtMs: 0, nextEndsAtMs: 0 };
  return {
    id: `${id}@utc`,
    text: `${text}, UTC`,
    periodAt: (nowMs) => {
      if (nowMs < period.startsAtMs || nowMs >= period.endsAtMs) period = periodOf(unit, nowMs);
      return period;
    },
  };
}

function notATimeZone(value: unknown): string {
  return `${formatForLog(value)} is not a time zone; expected 'UTC'`;
}

function periodOf(unit: CalendarUnit, nowMs: number): CalendarPeriod {
  const [startsAtMs, endsAtMs, nextEndsAtMs] = [0, 1, 2].map((number) => startOf(unit, nowMs, number));
  return { type: 'calendar', startsAtMs, endsAtMs, nextEndsAtMs } as CalendarPeriod;
}

/** @param number 0 for the period with the time, 1 for the next one */
function startOf(unit: CalendarUnit, nowMs: number, number: number): number {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  if (unit === 'year') return Date.UTC(year + number, 0);
  if (unit === 'month') return Date.UTC(year, month + number);
  const lengthMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000 }[unit];
  // 1970-01-05 was a Monday
  const firstMs = unit === 'week' ? 4 * 86_400_000 : 0;
  return firstMs + (Math.floor((nowMs - firstMs) / lengthMs) + number) * lengthMs;
}
