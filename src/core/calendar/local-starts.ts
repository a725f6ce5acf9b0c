import { DAY, MINUTE, WEEK } from './boundaries.js';
import type { LocalStarts } from './date-boundaries.js';

/** 1970-01-05 was a Monday. */
const FIRST_MONDAY = 4 * DAY;
const MONTHS_OF_YEAR = 12;

/** @param minute the minute of the day, from 0 */
export function startsOfDays(minute: number): LocalStarts {
  return everyLength(DAY, minute * MINUTE);
}

/** @param weekday 0 is Monday */
export function startsOfWeeks(weekday: number): LocalStarts {
  return everyLength(WEEK, FIRST_MONDAY + weekday * DAY);
}

/** @param day from 1 to 31; the last day in a shorter month */
export function startsOfMonths(day: number): LocalStarts {
  return {
    numberOf: monthsSince1970,
    startOf: (months) => startOfDate(months, day),
  };
}

/** @param month 0 is January */
export function startsOfYears(month: number, day: number): LocalStarts {
  return {
    numberOf: (localMs) => Math.floor(monthsSince1970(localMs) / MONTHS_OF_YEAR),
    startOf: (years) => startOfDate(years * MONTHS_OF_YEAR + month, day),
  };
}

/** The number of days of a month, in a leap year. */
export function mostDaysOf(month: number): number {
  return daysOf(2 * MONTHS_OF_YEAR + month);
}

function everyLength(lengthMs: number, firstMs: number): LocalStarts {
  return {
    numberOf: (localMs) => Math.floor((localMs - firstMs) / lengthMs),
    startOf: (number) => firstMs + number * lengthMs,
  };
}

function monthsSince1970(localMs: number): number {
  const date = new Date(localMs);
  return (date.getUTCFullYear() - 1970) * MONTHS_OF_YEAR + date.getUTCMonth();
}

function startOfDate(months: number, day: number): number {
  return Date.UTC(1970, months, Math.min(day, daysOf(months)));
}

/** @param months since January 1970 */
function daysOf(months: number): number {
  return new Date(Date.UTC(1970, months + 1, 0)).getUTCDate();
}
