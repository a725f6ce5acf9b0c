import { type Boundaries, HOUR, MINUTE } from './boundaries.js';
import { ClockBoundaries } from './clock-boundaries.js';
import { DateBoundaries, type LocalStarts } from './date-boundaries.js';
import { startsOfDays, startsOfMonths, startsOfWeeks, startsOfYears } from './local-starts.js';

export const UNITS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;

export const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
] as const;

/** A unit of the calendar, by which time is divided into periods. */
export type CalendarUnit = (typeof UNITS)[number];

/** A day of the week, in English and in lower case. */
export type Weekday = (typeof WEEKDAYS)[number];

/** A month of the year, in English and in lower case. */
export type MonthName = (typeof MONTHS)[number];

/** A division of time into periods, the same in all time zones. */
export interface Calendar {
  readonly unit: CalendarUnit;
  /** Distinguishes calendars: `month`, `month+15`, `day+0600`, `week+sunday`, `year+0406`. Of letters, digits and `+`. */
  readonly id: string;
  /** For people: `per month`, `per month from day 15`, `per day from 06:00`. */
  readonly text: string;
  readonly boundariesIn: (timeZone: string) => Boundaries;
}

export function clockCalendar(unit: 'minute' | 'hour'): Calendar {
  const lengthMs = { minute: MINUTE, hour: HOUR }[unit];
  return { ...named(unit), boundariesIn: (timeZone) => new ClockBoundaries(lengthMs, timeZone) };
}

/** @param startsAt the time of day, as in `06:00` */
export function dayCalendar(startsAt: string): Calendar {
  const [hours = 0, minutes = 0] = startsAt.split(':').map(Number);
  const starts = startsOfDays(hours * 60 + minutes);
  if (startsAt === '00:00') return dated(named('day'), starts);
  return dated(named('day', startsAt.replace(':', ''), startsAt), starts);
}

export function weekCalendar(startsAt: Weekday): Calendar {
  const starts = startsOfWeeks(WEEKDAYS.indexOf(startsAt));
  if (startsAt === 'monday') return dated(named('week'), starts);
  return dated(named('week', startsAt, capitalized(startsAt)), starts);
}

/** @param startsAt from 1 to 31; the last day in a shorter month */
export function monthCalendar(startsAt: number): Calendar {
  const starts = startsOfMonths(startsAt);
  if (startsAt === 1) return dated(named('month'), starts);
  return dated(named('month', String(startsAt), `day ${startsAt}`), starts);
}

/** @param day a day that the month has in leap years */
export function yearCalendar(month: MonthName, day: number): Calendar {
  const index = MONTHS.indexOf(month);
  const starts = startsOfYears(index, day);
  if (index === 0 && day === 1) return dated(named('year'), starts);
  return dated(named('year', twoDigits(index + 1) + twoDigits(day), `${capitalized(month)} ${day}`), starts);
}

type Named = Omit<Calendar, 'boundariesIn'>;

/** Without a start, periods begin where they always do: a calendar has one id, however it is written. */
function named(unit: CalendarUnit, startId?: string, startText?: string): Named {
  if (startId === undefined) return { unit, id: unit, text: `per ${unit}` };
  return { unit, id: `${unit}+${startId}`, text: `per ${unit} from ${startText}` };
}

function dated(names: Named, starts: LocalStarts): Calendar {
  return { ...names, boundariesIn: (timeZone) => new DateBoundaries(starts, timeZone) };
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}
