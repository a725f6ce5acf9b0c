import {
  type CalendarWindow,
  FreqLimit,
  type FreqLimitCheck,
  type FreqLimitOptions,
  type FreqLimitRule,
} from '../../src/index.js';

/* Compiled, never run: each unit takes its own kind of start, and a typo does not compile. */

export const right: CalendarWindow[] = [
  { calendar: 'minute' },
  { calendar: 'hour', timeZone: 'Asia/Kolkata' },
  { calendar: 'day', startsAt: '06:00' },
  { calendar: 'week', startsAt: 'sunday', timeZone: undefined },
  { calendar: 'month', startsAt: 15, timeZone: 'Europe/Berlin' },
  { calendar: 'month', startsAt: undefined, timeZone: (context) => context.getClass().name },
  { calendar: 'month', timeZone: async () => 'UTC' },
  { calendar: 'year', startsAt: 'april 6' },
];

declare const unit: 'day' | 'month';
declare const anyUnit: CalendarWindow['calendar'];

export const rulesOfAnyUnit: FreqLimitRule[] = [
  { window: { calendar: unit }, limit: 5 },
  { window: { calendar: anyUnit }, limit: 5 },
  { window: { calendar: anyUnit, timeZone: 'UTC' }, limit: 5, name: 'quota' },
];

export const checksOfAnyUnit: FreqLimitCheck[] = [
  { key: 'ann', window: { calendar: unit }, limit: 5 },
  { key: 'ann', window: { calendar: anyUnit, timeZone: 'UTC' }, limit: 5 },
];

export const optionsOfAnyUnit: FreqLimitOptions = {
  rules: [{ window: { calendar: unit }, limit: 5 }],
  namedRules: { quota: { window: { calendar: anyUnit }, limit: 5 } },
};

export const decoratorsOfAnyUnit = [
  FreqLimit({ window: { calendar: unit }, limit: 5 }),
  FreqLimit({ calendar: anyUnit }, 5),
  FreqLimit('login', { window: { calendar: unit } }),
];

export const wrong: CalendarWindow[] = [
  // @ts-expect-error only some of these units begin at a time of day
  { calendar: anyUnit, startsAt: '06:00' },
  // @ts-expect-error a typo in the unit
  { calendar: 'mont' },
  // @ts-expect-error an unknown option
  { calendar: 'month', timezone: 'UTC' },
  // @ts-expect-error a minute takes no start
  { calendar: 'minute', startsAt: 30 },
  // @ts-expect-error the start of a week is a day of the week
  { calendar: 'week', startsAt: 1 },
  // @ts-expect-error a month begins on a day
  { calendar: 'month', startsAt: 'monday' },
  // @ts-expect-error a day begins at a time
  { calendar: 'day', startsAt: 6 },
  // @ts-expect-error a year begins on a date
  { calendar: 'year', startsAt: '04-06' },
  // @ts-expect-error a typo in the month
  { calendar: 'year', startsAt: 'aprl 6' },
  // @ts-expect-error a function returns a name
  { calendar: 'day', timeZone: () => 2 },
];
