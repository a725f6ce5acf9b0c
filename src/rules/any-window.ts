import { UNITS } from '../core/calendar/calendar.js';
import { quoted } from '../core/errors.js';
import {
  looksLikeCalendarWindow,
  type ReadCalendarWindow,
  readCalendarWindow,
} from './calendar/read-calendar-window.js';
import type { FromContext } from './key/key-types.js';
import { FROM_CONTEXT } from './validators.js';
import { MISSING_WINDOW, toWindowMs } from './window.js';

/** A window that is read: a length in milliseconds, a function that returns a length, or a calendar. */
export type AnyWindow = number | FromContext<unknown> | ReadCalendarWindow;

/**
 * Reads the window of a rule.
 * @throws {TypeError | RangeError} if it is wrong; the message says what to write
 */
export function readAnyWindow(window: unknown): AnyWindow {
  if (window === undefined) throw new TypeError(MISSING_WINDOW);
  return FROM_CONTEXT.test(window) ? window : readConstantWindow(window);
}

/** Reads a window that is not a function. */
export function readConstantWindow(window: unknown): number | ReadCalendarWindow {
  return isCalendar(window) ? readCalendarWindow(window) : toWindowMs(window);
}

/** Whether a value is meant as a calendar, right or wrong. */
export function isCalendar(window: unknown): window is object {
  if (looksLikeCalendarWindow(window)) return true;
  // with a misspelled option
  const isObject = typeof window === 'object' && window !== null && !Array.isArray(window);
  return isObject && Object.keys(window).length > 0;
}

/** Whether a word is a unit of the calendar. */
export function isCalendarUnit(word: string): boolean {
  return (UNITS as readonly string[]).includes(word);
}

/** Writes a calendar as in code, without values that are wrong. */
export function calendarText(window: object): string {
  const { calendar, timeZone, startsAt } = window as Readonly<Record<string, unknown>>;
  const unit = typeof calendar === 'string' && isCalendarUnit(calendar) ? calendar : 'month';
  const others = Object.entries({ timeZone, startsAt }).flatMap(([name, value]) => {
    if (typeof value === 'number') return `, ${name}: ${value}`;
    return typeof value === 'string' ? `, ${name}: ${quoted(value)}` : [];
  });
  return `{ calendar: '${unit}'${others.join('')} }`;
}
