/** The moments at which periods end and the next ones begin, in a time zone. Times are milliseconds since 1970. */
export interface Boundaries {
  /** The last boundary at or before a time. */
  lastUntil(timeMs: number): number;
  /** The first boundary after a time. */
  firstAfter(timeMs: number): number;
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const WEEK = 7 * DAY;
