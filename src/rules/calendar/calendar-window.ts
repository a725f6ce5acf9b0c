import type { CalendarUnit, MonthName, Weekday } from '../../core/calendar/calendar.js';
import type { FromContext } from '../key/key-types.js';

export type { MonthName, Weekday } from '../../core/calendar/calendar.js';

/**
 * A window that begins and ends with the calendar, such as `{ calendar: 'month', timeZone: 'Europe/Berlin' }`. All counters
 * of a rule end at the same moment, when the clocks of the time zone show the start of the next period.
 *
 * A period with a clock change is longer or shorter. If clocks skip the start of a day, week, month or year, it begins when
 * they go on; if they show it twice, it begins at the first time.
 */
export type CalendarWindow = UnitWindow | DayWindow | WeekWindow | MonthWindow | YearWindow;

/** The part that all windows of the calendar have. */
interface InTimeZone {
  /**
   * The time zone, as a name of the IANA database such as `'Europe/Berlin'`, or a function that returns one. Each time zone
   * has counters of its own. So read it from the account, not from the request: a client that can choose its time zone can
   * start new counters.
   * @default 'UTC'
   */
  readonly timeZone?: string | FromContext<string> | undefined;
}

/** Each period of a unit, from its usual start. A minute and an hour have no other start. The unit may be a variable. */
interface UnitWindow extends InTimeZone {
  /** The unit of the calendar. */
  readonly calendar: CalendarUnit;
  /** Not possible with a minute or an hour. */
  readonly startsAt?: undefined;
}

/** Each day. */
interface DayWindow extends InTimeZone {
  /** The unit of the calendar. */
  readonly calendar: 'day';
  /**
   * The time of day at which the window begins, from `'00:00'` to `'23:59'`.
   * @default '00:00'
   */
  readonly startsAt?: `${number}:${number}` | undefined;
}

/** Each week. */
interface WeekWindow extends InTimeZone {
  /** The unit of the calendar. */
  readonly calendar: 'week';
  /**
   * The first day of the week. The window begins at midnight.
   * @default 'monday'
   */
  readonly startsAt?: Weekday | undefined;
}

/** Each month. */
interface MonthWindow extends InTimeZone {
  /** The unit of the calendar. */
  readonly calendar: 'month';
  /**
   * The day on which the window begins at midnight, from 1 to 31, such as a billing day. In a shorter month it is the last
   * day: with 31, the window always begins on the last day of the month.
   * @default 1
   */
  readonly startsAt?: number | undefined;
}

/** Each year. */
interface YearWindow extends InTimeZone {
  /** The unit of the calendar. */
  readonly calendar: 'year';
  /**
   * The date on which the window begins at midnight, such as `'april 6'` for a fiscal year. `'february 29'` is February 28
   * in other years than leap years.
   * @default 'january 1'
   */
  readonly startsAt?: `${MonthName} ${number}` | undefined;
}
