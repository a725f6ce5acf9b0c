import {
  looksLikeCalendarWindow,
  readCalendarWindow,
} from '../../../../src/rules/calendar/read-calendar-window.js';
import { thrownBy } from '../../fixtures.js';

describe('readCalendarWindow', () => {
  it.each([
    [{ calendar: 'minute' }, 'minute'],
    [{ calendar: 'hour', startsAt: undefined }, 'hour'],
    [{ calendar: 'day' }, 'day'],
    [{ calendar: 'day', startsAt: '00:00' }, 'day'],
    [{ calendar: 'day', startsAt: '06:00' }, 'day+0600'],
    [{ calendar: 'day', startsAt: '23:59' }, 'day+2359'],
    [{ calendar: 'week' }, 'week'],
    [{ calendar: 'week', startsAt: 'monday' }, 'week'],
    [{ calendar: 'week', startsAt: 'sunday' }, 'week+sunday'],
    [{ calendar: 'month' }, 'month'],
    [{ calendar: 'month', startsAt: 1 }, 'month'],
    [{ calendar: 'month', startsAt: 31 }, 'month+31'],
    [{ calendar: 'year' }, 'year'],
    [{ calendar: 'year', startsAt: 'january 1' }, 'year'],
    [{ calendar: 'year', startsAt: 'april 6' }, 'year+0406'],
    [{ calendar: 'year', startsAt: 'february 29' }, 'year+0229'],
    [{ calendar: 'year', startsAt: 'december 31' }, 'year+1231'],
  ])('reads %p as %s', (window, id) => {
    expect(readCalendarWindow(window).calendar.id).toBe(id);
  });

  it('reads the time zone, UTC if there is none', () => {
    const timeZone = () => 'Europe/Berlin';
    expect(readCalendarWindow({ calendar: 'day' }).timeZone).toBe('UTC');
    expect(readCalendarWindow({ calendar: 'day', timeZone: undefined }).timeZone).toBe('UTC');
    expect(readCalendarWindow({ calendar: 'day', timeZone: 'Asia/Kolkata' }).timeZone).toBe('Asia/Kolkata');
    expect(readCalendarWindow({ calendar: 'day', timeZone }).timeZone).toBe(timeZone);
  });

  it.each<[object, string]>([
    [{}, "calendar: is missing; expected one of 'minute', 'hour', 'day', 'week', 'month', 'year'"],
    [
      { calendar: 'monthly' },
      `calendar: "monthly" is not one of 'minute', 'hour', 'day', 'week', 'month', 'year'; did you mean 'month'?`,
    ],
    [{ calendar: '1m' }, `calendar: "1m" is not one of 'minute', 'hour', 'day', 'week', 'month', 'year'`],
    [{ calendar: 'toString' }, 'calendar: "toString" is not one of'],
    [{ calendar: 'day', timezone: 'UTC' }, 'timezone: is not an option of a window; did you mean timeZone?'],
    [{ calendar: 'day', tz: 'UTC' }, 'tz: is not an option of a window; did you mean timeZone?'],
    [{ unit: 'day' }, 'unit: is not an option of a window; did you mean calendar?'],
    [
      { calendar: 'day', limit: 5 },
      'limit: is not an option of a window (options: calendar, timeZone, startsAt)',
    ],
    [{ calendar: 'day', 'a\nb': 5 }, 'a\\nb: is not an option of a window'],
    [{ calendar: 'minute', startsAt: 30 }, "startsAt: is not possible with calendar: 'minute'; remove it"],
    [{ calendar: 'hour', startsAt: 30 }, "startsAt: is not possible with calendar: 'hour'; remove it"],
    [
      { calendar: 'day', startsAt: '6:00' },
      `startsAt: "6:00" is not a time of day from '00:00' to '23:59', such as '06:00'`,
    ],
    [{ calendar: 'day', startsAt: '24:00' }, 'startsAt: "24:00" is not a time of day'],
    [{ calendar: 'day', startsAt: 6 }, 'startsAt: 6 is not a time of day'],
    [{ calendar: 'day', startsAt: null }, 'startsAt: null is not a time of day'],
    [{ calendar: 'week', startsAt: 'Sunday' }, "'sunday'; did you mean 'sunday'?"],
    [{ calendar: 'week', startsAt: 0 }, "startsAt: 0 is not one of 'monday', 'tuesday'"],
    [
      { calendar: 'month', startsAt: 0 },
      'startsAt: 0 is not a day of the month, a whole number from 1 to 31',
    ],
    [{ calendar: 'month', startsAt: 32 }, 'startsAt: 32 is not a day of the month'],
    [{ calendar: 'month', startsAt: 1.5 }, 'startsAt: 1.5 is not a day of the month'],
    [{ calendar: 'month', startsAt: '15' }, 'it is a string, perhaps from the environment: write Number(…)'],
    [
      { calendar: 'year', startsAt: '04-06' },
      `startsAt: "04-06" is not a month and a day, such as 'april 6'`,
    ],
    [{ calendar: 'year', startsAt: 'April 6' }, "did you mean 'april 6'?"],
    [{ calendar: 'year', startsAt: 'aprl 6' }, "did you mean 'april 6'?"],
    [{ calendar: 'year', startsAt: 'april 06' }, 'is not a month and a day'],
    [
      { calendar: 'year', startsAt: 'april 31' },
      `startsAt: "april 31" is not a month and a day, such as 'april 6'`,
    ],
    [{ calendar: 'year', startsAt: 'february 30' }, 'is not a month and a day'],
    [{ calendar: 'year', startsAt: 'april 0' }, 'is not a month and a day'],
    [{ calendar: 'year', startsAt: 4 }, 'startsAt: 4 is not a month and a day'],
    [
      { calendar: 'day', timeZone: 'Europe/Berln' },
      `timeZone: "Europe/Berln" is not a time zone of the IANA database, such as 'Europe/Berlin' or 'UTC'; did you mean 'Europe/Berlin'?`,
    ],
    [{ calendar: 'day', timeZone: 'America/New York' }, "did you mean 'America/New_York'?"],
    [{ calendar: 'day', timeZone: 'UTS' }, "did you mean 'UTC'?"],
    [{ calendar: 'day', timeZone: '+02:00' }, 'timeZone: "+02:00" is not a time zone of the IANA database'],
    [{ calendar: 'day', timeZone: 'a\nb' }, 'timeZone: "a\\nb" is not a time zone'],
    [{ calendar: 'day', timeZone: null }, 'timeZone: null is not a time zone'],
  ])('throws for %p', (window, message) => {
    const error = thrownBy(() => readCalendarWindow(window));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(message);
  });
});

describe('looksLikeCalendarWindow', () => {
  it('recognizes an object with a calendar, right or wrong', () => {
    expect(looksLikeCalendarWindow({ calendar: 'month' })).toBe(true);
    expect(looksLikeCalendarWindow({ calendar: 1, limit: 5 })).toBe(true);
    for (const other of [{ window: '1m', limit: 5 }, '1m', 60, undefined, null, () => 60])
      expect(looksLikeCalendarWindow(other)).toBe(false);
  });
});
