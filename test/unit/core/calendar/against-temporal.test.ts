import { DAY, HOUR, MINUTE } from '../../../../src/core/calendar/boundaries.js';
import {
  type Calendar,
  clockCalendar,
  dayCalendar,
  monthCalendar,
  MONTHS,
  weekCalendar,
  WEEKDAYS,
  yearCalendar,
} from '../../../../src/core/calendar/calendar.js';
import { mostDaysOf } from '../../../../src/core/calendar/local-starts.js';
import { offsetAt } from '../../../../src/core/calendar/time-zone.js';
import { ZonedCalendar } from '../../../../src/core/calendar/zoned-calendar.js';
import { chanceOf } from '../../../fault/chance.js';
import {
  days,
  fullMinutes,
  months,
  nextChange,
  offsetByTemporal,
  periodByTemporal,
  weeks,
  years,
} from './temporal-reference.js';

const TIME_ZONES = ['UTC', 'Etc/GMT+12', 'Etc/GMT-14', ...Intl.supportedValuesOf('timeZone')];
const PAIRS = 500;

const chance = chanceOf(2026);
const below = (max: number): number => Math.floor(chance() * max);
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)]!;
const at = (iso: string): number => Date.parse(iso);

/** Half of the moments are near a change of the clocks. */
function momentIn(timeZone: string, from: string, to: string): number {
  const moment = at(from) + below(at(to) - at(from));
  if (chance() < 0.5) return moment;
  return (nextChange(timeZone, moment) ?? moment) + below(4 * DAY) - 2 * DAY;
}

const DATED: Record<string, () => [Calendar, ReturnType<typeof days>]> = {
  day: () => [dayCalendar('00:00'), days('00:00')],
  'day with a start': () => {
    const [hour, minute] = [below(24), below(60)].map((one) => String(one).padStart(2, '0'));
    return [dayCalendar(`${hour}:${minute}`), days(`${hour}:${minute}`)];
  },
  week: () => {
    const first = below(7);
    return [weekCalendar(WEEKDAYS[first]!), weeks(first + 1)];
  },
  month: () => {
    const day = 1 + below(31);
    return [monthCalendar(day), months(day)];
  },
  year: () => {
    const month = below(12);
    const day = 1 + below(mostDaysOf(month));
    return [yearCalendar(MONTHS[month]!, day), years(month + 1, day)];
  },
};

describe.each(Object.keys(DATED))('the periods of a %s', (name) => {
  it('are those of Temporal', () => {
    for (let i = 0; i < PAIRS; i++) {
      const [calendar, reference] = DATED[name]!();
      const timeZone = oneOf(TIME_ZONES);
      const now = momentIn(timeZone, '1900-01-01', '2040-01-01');
      const period = new ZonedCalendar(calendar, timeZone).periodAt(now);
      const expected = periodByTemporal(reference, timeZone, now);
      expect({ id: calendar.id, timeZone, now, ...period }).toEqual({
        id: calendar.id,
        timeZone,
        now,
        ...expected,
      });
    }
  });
});

describe.each(['minute', 'hour'] as const)('the periods of a %s', (unit) => {
  const [minutes, lengthMs] = unit === 'minute' ? [1, MINUTE] : [60, HOUR];

  it('begin at each moment at which clocks show a full one', () => {
    for (let i = 0; i < PAIRS / 4; i++) {
      const timeZone = oneOf(TIME_ZONES);
      // since 1973 all offsets are full minutes
      const moment = at('1973-01-01') + below(at('2040-01-01') - at('1973-01-01'));
      const now = (nextChange(timeZone, moment) ?? moment) + below(6 * lengthMs) - 3 * lengthMs;
      const { startsAtMs, endsAtMs, nextEndsAtMs } = new ZonedCalendar(
        clockCalendar(unit),
        timeZone,
      ).periodAt(now);
      const found = fullMinutes(timeZone, minutes, now - 2 * lengthMs, nextEndsAtMs);
      expect({ timeZone, now, boundaries: found.filter((ms) => ms >= startsAtMs) }).toEqual({
        timeZone,
        now,
        boundaries: [startsAtMs, endsAtMs, nextEndsAtMs],
      });
    }
  });
});

describe('offsetAt', () => {
  it('is the offset of Temporal, also of clocks that were minutes and seconds away from an hour', () => {
    for (let i = 0; i < PAIRS; i++) {
      const timeZone = oneOf(TIME_ZONES);
      const now = momentIn(timeZone, '1840-01-01', '2040-01-01');
      expect({ timeZone, now, offset: offsetAt(timeZone, now) }).toEqual({
        timeZone,
        now,
        offset: offsetByTemporal(timeZone, now),
      });
    }
  });
});
