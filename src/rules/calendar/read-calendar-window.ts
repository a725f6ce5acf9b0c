import {
  type Calendar,
  type CalendarUnit,
  clockCalendar,
  dayCalendar,
  monthCalendar,
  UNITS,
  weekCalendar,
  WEEKDAYS,
  yearCalendar,
} from '../../core/calendar/calendar.js';
import { TIME_ZONE } from '../../core/calendar/time-zone.js';
import { oneLine } from '../../core/errors.js';
import { nearestName } from '../../core/nearest-name.js';
import { adviceFor, hintsFor } from '../../core/option-hints.js';
import { aFunction, matching, mismatch, oneOf, type Validator, wholeNumber } from '../../core/validate.js';
import type { FromContext } from '../key/key-types.js';
import { nearestDate, readDate } from './year-start.js';

/** A checked window of the calendar. */
export interface ReadCalendarWindow {
  readonly calendar: Calendar;
  /** A known time zone, or the function that returns one. */
  readonly timeZone: string | FromContext<unknown>;
}

const OPTIONS = ['calendar', 'timeZone', 'startsAt'];
const HINTS = {
  ...hintsFor(['unit', 'period'], 'calendar'),
  ...hintsFor(['tz', 'zone'], 'timeZone'),
  ...hintsFor(['start', 'billingDay', 'firstDay'], 'startsAt'),
};
const UNIT = oneOf(...UNITS);
const TIME_OF_DAY = matching(
  /^(?:[01]\d|2[0-3]):[0-5]\d$/,
  "a time of day from '00:00' to '23:59', such as '06:00'",
);
const WEEKDAY = oneOf(...WEEKDAYS);
const DAY_OF_MONTH = { ...wholeNumber(1, 31), expected: 'a day of the month, a whole number from 1 to 31' };
const DATE: Validator<string> = {
  test: (value): value is string => readDate(value) !== undefined,
  expected: "a month and a day, such as 'april 6'",
};
const FUNCTION = aFunction<FromContext<unknown>>();

/** Whether a value is meant as a window of the calendar, right or wrong. */
export function looksLikeCalendarWindow(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'calendar' in value;
}

/**
 * Checks a window of the calendar.
 * @throws {TypeError} if it is wrong; the message names the option, what is wrong and what to write, as in `startsAt: 32 is
 * not a day of the month, a whole number from 1 to 31`
 */
export function readCalendarWindow(given: object): ReadCalendarWindow {
  rejectUnknown(given);
  const { calendar, timeZone, startsAt } = given as Readonly<Record<string, unknown>>;
  const unit = valid('calendar', calendar, UNIT, nearestIn(UNITS));
  return { calendar: CALENDARS[unit](startsAt), timeZone: readTimeZone(timeZone) };
}

/** Reads `startsAt` of each unit. */
const CALENDARS: Readonly<Record<CalendarUnit, (startsAt: unknown) => Calendar>> = {
  minute: (startsAt) => withoutStart('minute', startsAt),
  hour: (startsAt) => withoutStart('hour', startsAt),
  day: (startsAt = '00:00') => dayCalendar(valid('startsAt', startsAt, TIME_OF_DAY)),
  week: (startsAt = 'monday') => weekCalendar(valid('startsAt', startsAt, WEEKDAY, nearestIn(WEEKDAYS))),
  month: (startsAt = 1) => monthCalendar(valid('startsAt', startsAt, DAY_OF_MONTH)),
  year: yearOf,
};

function withoutStart(unit: 'minute' | 'hour', startsAt: unknown): Calendar {
  if (startsAt === undefined) return clockCalendar(unit);
  throw new TypeError(`startsAt: is not possible with calendar: '${unit}'; remove it`);
}

function yearOf(startsAt: unknown = 'january 1'): Calendar {
  const date = readDate(startsAt);
  if (date === undefined) throw wrong('startsAt', startsAt, DATE, nearestDate);
  return yearCalendar(...date);
}

function readTimeZone(timeZone: unknown = 'UTC'): string | FromContext<unknown> {
  return FUNCTION.test(timeZone) ? timeZone : valid('timeZone', timeZone, TIME_ZONE, nearestTimeZone);
}

function nearestTimeZone(name: string): string | undefined {
  return nearestName(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
}

function rejectUnknown(given: object): void {
  for (const name of Object.keys(given)) {
    if (OPTIONS.includes(name)) continue;
    const advice = adviceFor(name, given, OPTIONS, HINTS);
    const instead = advice === undefined ? ` (options: ${OPTIONS.join(', ')})` : `; ${advice.text}`;
    throw new TypeError(`${oneLine(name)}: is not an option of a window${instead}`);
  }
}

type Nearest = (value: string) => string | undefined;

function nearestIn(names: readonly string[]): Nearest {
  return (value) => nearestName(value, names);
}

function valid<T>(option: string, value: unknown, validator: Validator<T>, nearest?: Nearest): T {
  if (validator.test(value)) return value;
  throw wrong(option, value, validator, nearest);
}

function wrong(option: string, value: unknown, validator: Validator<unknown>, nearest?: Nearest): TypeError {
  if (value === undefined) return new TypeError(`${option}: is missing; expected ${validator.expected}`);
  const meant = typeof value === 'string' ? nearest?.(value) : undefined;
  const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
  return new TypeError(`${option}: ${mismatch(value, validator)}${hint}`);
}
