import { type MonthName, MONTHS } from '../../core/calendar/calendar.js';
import { mostDaysOf } from '../../core/calendar/local-starts.js';
import { nearestName } from '../../core/nearest-name.js';

const PATTERN = /^(\p{L}+) ([1-9]\d?)$/u;

/** Reads a date without a year, such as `april 6`; `undefined` for anything else. */
export function readDate(value: unknown): readonly [month: MonthName, day: number] | undefined {
  const [, name, digits] = PATTERN.exec(typeof value === 'string' ? value : '') ?? [];
  const month = MONTHS.find((one) => one === name);
  const day = Number(digits);
  return month !== undefined && day <= mostDaysOf(MONTHS.indexOf(month)) ? [month, day] : undefined;
}

/** The right form of a date whose month is almost right. */
export function nearestDate(text: string): string | undefined {
  const [, name = '', digits = ''] = PATTERN.exec(text) ?? [];
  const date = `${nearestName(name, MONTHS)} ${digits}`;
  return readDate(date) === undefined ? undefined : date;
}
