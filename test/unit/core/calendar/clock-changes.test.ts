import {
  type Calendar,
  clockCalendar,
  dayCalendar,
  monthCalendar,
  weekCalendar,
  yearCalendar,
} from '../../../../src/core/calendar/calendar.js';
import { zonedCalendar } from '../../../../src/core/calendar/zoned-calendar.js';

const MINUTE = clockCalendar('minute');
const HOUR = clockCalendar('hour');
const DAY = dayCalendar('00:00');
const MONTH = monthCalendar(1);

/** The boundaries of the period with a time, and the next one, in UTC. */
function periodAt(calendar: Calendar, timeZone: string, now: string): string[] {
  const { startsAtMs, endsAtMs, nextEndsAtMs } = zonedCalendar(calendar, timeZone).periodAt(Date.parse(now));
  return [startsAtMs, endsAtMs, nextEndsAtMs].map((ms) =>
    new Date(ms).toISOString().replace(/:00\.000Z$/, 'Z'),
  );
}

interface Case {
  readonly name: string;
  readonly calendar: Calendar;
  readonly timeZone: string;
  readonly now: string;
  /** The start, the end, and the end of the next period. */
  readonly expected: readonly [string, string, string];
}

const CASES: readonly Case[] = [
  {
    name: 'a day of 23 hours, when clocks go forward',
    calendar: DAY,
    timeZone: 'Europe/Berlin',
    now: '2026-03-29T12:00Z',
    expected: ['2026-03-28T23:00Z', '2026-03-29T22:00Z', '2026-03-30T22:00Z'],
  },
  {
    name: 'a day of 25 hours, when clocks go back',
    calendar: DAY,
    timeZone: 'Europe/Berlin',
    now: '2026-10-25T12:00Z',
    expected: ['2026-10-24T22:00Z', '2026-10-25T23:00Z', '2026-10-26T23:00Z'],
  },
  {
    name: 'a month with the change',
    calendar: MONTH,
    timeZone: 'America/New_York',
    now: '2026-03-15T00:00Z',
    expected: ['2026-03-01T05:00Z', '2026-04-01T04:00Z', '2026-05-01T04:00Z'],
  },
  {
    name: 'a start that clocks skip: the period begins when they go on',
    calendar: dayCalendar('02:30'),
    timeZone: 'Europe/Berlin',
    now: '2026-03-29T01:00Z',
    expected: ['2026-03-29T01:00Z', '2026-03-30T00:30Z', '2026-03-31T00:30Z'],
  },
  {
    name: 'the last moment before a start that clocks skip',
    calendar: dayCalendar('02:30'),
    timeZone: 'Europe/Berlin',
    now: '2026-03-29T00:59:59.999Z',
    expected: ['2026-03-28T01:30Z', '2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  },
  {
    name: 'a start that clocks show twice: the period begins at the first time',
    calendar: dayCalendar('02:30'),
    timeZone: 'Europe/Berlin',
    now: '2026-10-25T01:10Z',
    expected: ['2026-10-25T00:30Z', '2026-10-26T01:30Z', '2026-10-27T01:30Z'],
  },
  {
    name: 'a midnight that clocks skip, in Brazil of 2018',
    calendar: DAY,
    timeZone: 'America/Sao_Paulo',
    now: '2018-11-04T12:00Z',
    expected: ['2018-11-04T03:00Z', '2018-11-05T02:00Z', '2018-11-06T02:00Z'],
  },
  {
    name: 'a midnight that clocks skip, in Lebanon',
    calendar: DAY,
    timeZone: 'Asia/Beirut',
    now: '2025-03-29T21:59:59.999Z',
    expected: ['2025-03-28T22:00Z', '2025-03-29T22:00Z', '2025-03-30T21:00Z'],
  },
  {
    name: 'a midnight that clocks skip, in Egypt',
    calendar: DAY,
    timeZone: 'Africa/Cairo',
    now: '2025-04-25T00:00Z',
    expected: ['2025-04-24T22:00Z', '2025-04-25T21:00Z', '2025-04-26T21:00Z'],
  },
  {
    name: 'clocks that go back from midnight to 23:00, in Egypt',
    calendar: DAY,
    timeZone: 'Africa/Cairo',
    now: '2025-10-30T21:30Z',
    expected: ['2025-10-29T21:00Z', '2025-10-30T22:00Z', '2025-10-31T22:00Z'],
  },
  {
    name: 'clocks that go back from 0:01 to 23:01: the new day has begun, and goes on',
    calendar: DAY,
    timeZone: 'America/St_Johns',
    now: '2010-11-07T03:00Z',
    expected: ['2010-11-07T02:30Z', '2010-11-08T03:30Z', '2010-11-09T03:30Z'],
  },
  {
    name: 'clocks that go from 23:30 to 0:30: the day begins at 0:30',
    calendar: DAY,
    timeZone: 'America/Toronto',
    now: '1919-03-31T04:30Z',
    expected: ['1919-03-31T04:30Z', '1919-04-01T04:00Z', '1919-04-02T04:00Z'],
  },
  {
    name: 'a date that the calendar of Samoa skipped: it has no period',
    calendar: DAY,
    timeZone: 'Pacific/Apia',
    now: '2011-12-30T09:59:59.999Z',
    expected: ['2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
  },
  {
    name: 'a month that begins on a skipped date: it begins with the next date',
    calendar: monthCalendar(30),
    timeZone: 'Pacific/Apia',
    now: '2011-12-30T10:00Z',
    expected: ['2011-12-30T10:00Z', '2012-01-29T10:00Z', '2012-02-28T10:00Z'],
  },
  {
    name: 'a date that the Marshall Islands had for 47 hours',
    calendar: DAY,
    timeZone: 'Pacific/Kwajalein',
    now: '1969-10-01T00:00Z',
    expected: ['1969-09-29T13:00Z', '1969-10-01T12:00Z', '1969-10-02T12:00Z'],
  },
  {
    name: 'the largest offset',
    calendar: MONTH,
    timeZone: 'Pacific/Kiritimati',
    now: '2026-01-31T10:00Z',
    expected: ['2026-01-31T10:00Z', '2026-02-28T10:00Z', '2026-03-31T10:00Z'],
  },
  {
    name: 'the smallest offset',
    calendar: MONTH,
    timeZone: 'Etc/GMT+12',
    now: '2026-02-01T11:59Z',
    expected: ['2026-01-01T12:00Z', '2026-02-01T12:00Z', '2026-03-01T12:00Z'],
  },
  {
    name: 'an hour that comes twice: two periods',
    calendar: HOUR,
    timeZone: 'Europe/Berlin',
    now: '2026-10-25T00:30Z',
    expected: ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
  },
  {
    name: 'hours with an offset of 45 minutes',
    calendar: HOUR,
    timeZone: 'Asia/Kathmandu',
    now: '2026-01-01T12:00Z',
    expected: ['2026-01-01T11:15Z', '2026-01-01T12:15Z', '2026-01-01T13:15Z'],
  },
  {
    name: 'an hour in which clocks go back by half an hour',
    calendar: HOUR,
    timeZone: 'Australia/Lord_Howe',
    now: '2026-04-04T15:10Z',
    expected: ['2026-04-04T14:00Z', '2026-04-04T15:30Z', '2026-04-04T16:30Z'],
  },
  {
    name: 'an hour in which clocks go forward by half an hour',
    calendar: HOUR,
    timeZone: 'Australia/Lord_Howe',
    now: '2026-10-03T15:40Z',
    expected: ['2026-10-03T14:30Z', '2026-10-03T16:00Z', '2026-10-03T17:00Z'],
  },
  {
    name: 'a day with a change of half an hour',
    calendar: DAY,
    timeZone: 'Australia/Lord_Howe',
    now: '2026-04-05T00:00Z',
    expected: ['2026-04-04T13:00Z', '2026-04-05T13:30Z', '2026-04-06T13:30Z'],
  },
  {
    name: 'minutes with an offset in seconds',
    calendar: MINUTE,
    timeZone: 'Africa/Monrovia',
    now: '1971-06-01T12:00:00Z',
    expected: ['1971-06-01T11:59:30.000Z', '1971-06-01T12:00:30.000Z', '1971-06-01T12:01:30.000Z'],
  },
  {
    name: 'a minute in which the offset lost its seconds',
    calendar: MINUTE,
    timeZone: 'Africa/Monrovia',
    now: '1972-01-07T00:44:29.999Z',
    expected: ['1972-01-07T00:43:30.000Z', '1972-01-07T00:45Z', '1972-01-07T00:46Z'],
  },
];

describe('a period', () => {
  it.each(CASES)('is right with $name', ({ calendar, timeZone, now, expected }) => {
    expect(periodAt(calendar, timeZone, now)).toEqual(expected);
  });

  it.each([
    ['2027-01-30T12:00Z', '2026-12-31T00:00Z', '2027-01-31T00:00Z', '2027-02-28T00:00Z'],
    ['2027-02-28T00:00Z', '2027-02-28T00:00Z', '2027-03-31T00:00Z', '2027-04-30T00:00Z'],
    ['2028-02-28T23:59Z', '2028-01-31T00:00Z', '2028-02-29T00:00Z', '2028-03-31T00:00Z'],
  ])('begins on the last day of a month that is shorter than its start, at %s', (now, ...expected) => {
    expect(periodAt(monthCalendar(31), 'UTC', now)).toEqual(expected);
  });

  it.each([
    ['2028-02-28T23:59Z', '2027-02-28T00:00Z', '2028-02-29T00:00Z', '2029-02-28T00:00Z'],
    ['2028-02-29T00:00Z', '2028-02-29T00:00Z', '2029-02-28T00:00Z', '2030-02-28T00:00Z'],
  ])('begins on February 28 if the leap day is missing, at %s', (now, ...expected) => {
    expect(periodAt(yearCalendar('february', 29), 'UTC', now)).toEqual(expected);
  });

  it.each([
    { calendar: weekCalendar('monday'), start: '2026-10-12T00:00Z', end: '2026-10-19T00:00Z' },
    { calendar: weekCalendar('sunday'), start: '2026-10-11T00:00Z', end: '2026-10-18T00:00Z' },
    { calendar: weekCalendar('thursday'), start: '2026-10-15T00:00Z', end: '2026-10-22T00:00Z' },
    { calendar: weekCalendar('friday'), start: '2026-10-09T00:00Z', end: '2026-10-16T00:00Z' },
    { calendar: yearCalendar('april', 6), start: '2026-04-06T00:00Z', end: '2027-04-06T00:00Z' },
    { calendar: yearCalendar('november', 1), start: '2025-11-01T00:00Z', end: '2026-11-01T00:00Z' },
    { calendar: dayCalendar('18:30'), start: '2026-10-14T18:30Z', end: '2026-10-15T18:30Z' },
    { calendar: monthCalendar(15), start: '2026-10-15T00:00Z', end: '2026-11-15T00:00Z' },
    { calendar: monthCalendar(16), start: '2026-09-16T00:00Z', end: '2026-10-16T00:00Z' },
  ])('begins where the calendar says: $calendar.id', ({ calendar, start, end }) => {
    expect(periodAt(calendar, 'UTC', '2026-10-15T12:00Z').slice(0, 2)).toEqual([start, end]);
  });
});
