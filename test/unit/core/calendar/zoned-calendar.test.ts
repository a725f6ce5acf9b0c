import { jest } from '@jest/globals';
import {
  clockCalendar,
  dayCalendar,
  monthCalendar,
  weekCalendar,
  yearCalendar,
} from '../../../../src/core/calendar/calendar.js';
import { ZonedCalendar, zonedCalendar } from '../../../../src/core/calendar/zoned-calendar.js';
import { chanceOf } from '../../../fault/chance.js';

const CALENDARS = [
  clockCalendar('minute'),
  clockCalendar('hour'),
  dayCalendar('00:00'),
  dayCalendar('02:30'),
  weekCalendar('monday'),
  weekCalendar('sunday'),
  monthCalendar(1),
  monthCalendar(31),
  yearCalendar('january', 1),
  yearCalendar('february', 29),
];

const at = (iso: string): number => Date.parse(iso);

/** A calendar whose boundaries are full thousands, and that counts how often it is used. */
function countedCalendar(): { calendar: ZonedCalendar; firstAfter: jest.Mock } {
  const firstAfter = jest.fn((ms: number) => Math.floor(ms / 1_000) * 1_000 + 1_000);
  const lastUntil = (ms: number): number => Math.floor(ms / 1_000) * 1_000;
  const calendar = new ZonedCalendar(
    { unit: 'day', id: 'day', text: 'per day', boundariesIn: () => ({ lastUntil, firstAfter }) },
    'UTC',
  );
  return { calendar, firstAfter: firstAfter as jest.Mock };
}

describe('a calendar in a time zone', () => {
  it.each([
    { calendar: clockCalendar('minute'), id: 'minute', text: 'per minute' },
    { calendar: clockCalendar('hour'), id: 'hour', text: 'per hour' },
    { calendar: dayCalendar('00:00'), id: 'day', text: 'per day' },
    { calendar: dayCalendar('06:05'), id: 'day+0605', text: 'per day from 06:05' },
    { calendar: weekCalendar('monday'), id: 'week', text: 'per week' },
    { calendar: weekCalendar('sunday'), id: 'week+sunday', text: 'per week from Sunday' },
    { calendar: monthCalendar(1), id: 'month', text: 'per month' },
    { calendar: monthCalendar(15), id: 'month+15', text: 'per month from day 15' },
    { calendar: yearCalendar('january', 1), id: 'year', text: 'per year' },
    { calendar: yearCalendar('april', 6), id: 'year+0406', text: 'per year from April 6' },
    { calendar: yearCalendar('december', 31), id: 'year+1231', text: 'per year from December 31' },
  ])('has the id $id and the text "$text"', ({ calendar, id, text }) => {
    const zoned = zonedCalendar(calendar, 'Europe/Berlin');
    expect(zoned.id).toBe(`${id}@europe/berlin`);
    expect(zoned.text).toBe(`${text}, Europe/Berlin`);
  });

  it('has one id for all spellings of a name, and keeps the name of an alias', () => {
    const ids = ['Asia/Kolkata', 'ASIA/kolkata', 'Asia/Calcutta'].map(
      (timeZone) => zonedCalendar(monthCalendar(1), timeZone).id,
    );
    expect(ids).toEqual(['month@asia/kolkata', 'month@asia/kolkata', 'month@asia/calcutta']);
  });

  it('has an id of its own for each start and time zone', () => {
    const timeZones = [
      'UTC',
      'Etc/GMT',
      'Etc/GMT+1',
      'Etc/GMT+11',
      'Etc/GMT-1',
      ...Intl.supportedValuesOf('timeZone'),
    ];
    const starts = [...CALENDARS, monthCalendar(11), dayCalendar('11:11'), yearCalendar('november', 11)];
    const ids = starts.flatMap((calendar) => timeZones.map((one) => new ZonedCalendar(calendar, one).id));
    expect(new Set(ids).size).toBe(starts.length * new Set(timeZones).size);
    expect(ids.filter((id) => !/^[a-z0-9+]+@[a-z0-9_+/-]+$/.test(id))).toEqual([]);
  });

  it('has periods that follow one another, and in each of which every moment finds the same period', () => {
    const chance = chanceOf(7);
    const timeZones = ['UTC', ...Intl.supportedValuesOf('timeZone')];
    for (let i = 0; i < 1_000; i++) {
      const calendar = CALENDARS[i % CALENDARS.length]!;
      const timeZone = timeZones[Math.floor(chance() * timeZones.length)]!;
      const now = Math.floor(at('1840-01-01') + chance() * (at('2100-01-01') - at('1840-01-01')));
      const periodAt = (ms: number) => new ZonedCalendar(calendar, timeZone).periodAt(ms);
      const period = periodAt(now);
      const { startsAtMs, endsAtMs, nextEndsAtMs } = period;
      expect(startsAtMs <= now && now < endsAtMs && endsAtMs < nextEndsAtMs).toBe(true);
      for (const ms of [
        startsAtMs,
        endsAtMs - 1,
        startsAtMs + Math.floor(chance() * (endsAtMs - startsAtMs)),
      ])
        expect(periodAt(ms)).toEqual(period);
      expect(periodAt(startsAtMs - 1)).toMatchObject({ endsAtMs: startsAtMs, nextEndsAtMs: endsAtMs });
      expect(periodAt(endsAtMs)).toMatchObject({ startsAtMs: endsAtMs, endsAtMs: nextEndsAtMs });
    }
  });
});

describe('periodAt', () => {
  it('computes a period once, until it is over', () => {
    const { calendar, firstAfter } = countedCalendar();
    const period = calendar.periodAt(5_400);
    expect(period).toEqual({ type: 'calendar', startsAtMs: 5_000, endsAtMs: 6_000, nextEndsAtMs: 7_000 });
    for (const ms of [5_000, 5_401, 5_999]) expect(calendar.periodAt(ms)).toBe(period);
    expect(firstAfter).toHaveBeenCalledTimes(2);
    expect(calendar.periodAt(6_000)).toMatchObject({ startsAtMs: 6_000 });
  });

  it('computes it again if the clock jumps back', () => {
    const { calendar } = countedCalendar();
    calendar.periodAt(5_400);
    expect(calendar.periodAt(4_999)).toMatchObject({
      startsAtMs: 4_000,
      endsAtMs: 5_000,
      nextEndsAtMs: 6_000,
    });
  });

  it('accepts a clock with fractions of a millisecond', () => {
    // half an hour before the next full hour, which the search for the change has to pass
    const change = at('2026-04-04T15:00Z');
    expect(zonedCalendar(clockCalendar('hour'), 'Australia/Lord_Howe').periodAt(change + 0.5)).toMatchObject({
      startsAtMs: at('2026-04-04T14:00Z'),
      endsAtMs: at('2026-04-04T15:30Z'),
    });
  });
});

describe('zonedCalendar', () => {
  it('returns one object for each calendar and time zone', () => {
    const first = zonedCalendar(monthCalendar(15), 'Europe/Berlin');
    expect(zonedCalendar(monthCalendar(15), 'Europe/Berlin')).toBe(first);
    expect(zonedCalendar(monthCalendar(16), 'Europe/Berlin')).not.toBe(first);
    expect(zonedCalendar(monthCalendar(15), 'Europe/Paris')).not.toBe(first);
  });

  it('keeps only the last ones', () => {
    const first = zonedCalendar(yearCalendar('may', 1), 'UTC');
    const other = (i: number) => zonedCalendar({ ...monthCalendar(1), id: `month+${i}` }, 'UTC');
    for (let i = 0; i < 999; i++) other(i);
    expect(zonedCalendar(yearCalendar('may', 1), 'UTC')).toBe(first);
    other(999);
    expect(zonedCalendar(yearCalendar('may', 1), 'UTC')).not.toBe(first);
  });

  it.each(['Europe/Berln', '', undefined, { toString: () => 'UTC' }])('throws for %p', (timeZone) => {
    expect(() => zonedCalendar(monthCalendar(1), timeZone)).toThrow(TypeError);
    expect(() => zonedCalendar(monthCalendar(1), timeZone)).toThrow('is not a time zone');
  });
});
