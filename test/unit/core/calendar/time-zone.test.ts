import { offsetAt, offsetChange, TIME_ZONE } from '../../../../src/core/calendar/time-zone.js';

const HOUR = 3_600_000;
const at = (iso: string): number => Date.parse(iso);

describe('TIME_ZONE', () => {
  it.each([
    'UTC',
    'utc',
    'GMT',
    'Europe/Berlin',
    'europe/berlin',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince',
    'Etc/GMT+12',
    'CET',
    'EST5EDT',
    'Japan',
  ])('accepts %s', (name) => {
    expect(TIME_ZONE.test(name)).toBe(true);
  });

  it('accepts all names that Intl lists', () => {
    expect(Intl.supportedValuesOf('timeZone').filter((name) => !TIME_ZONE.test(name))).toEqual([]);
  });

  it.each([
    '',
    ' ',
    'Europe/Berln',
    ' Europe/Berlin',
    'Europe/Berlin\n',
    'W. Europe Standard Time',
    'UTC+1',
    '+02:00',
    '-0500',
    'Etc/Unknown',
    // several places share these, and Node.js picks one
    'BST',
    'ist',
    'CST',
    'PST',
    undefined,
    null,
    1,
    new String('UTC'),
    ['UTC'],
    'x'.repeat(1_000),
  ])('does not accept %p', (value) => {
    expect(TIME_ZONE.test(value)).toBe(false);
  });
});

describe('offsetAt', () => {
  it.each([
    ['UTC', '2026-07-01', 0],
    ['Europe/Berlin', '2026-01-01', 1],
    ['Europe/Berlin', '2026-07-01', 2],
    ['America/St_Johns', '2026-01-01', -3.5],
    ['Asia/Kathmandu', '2026-01-01', 5.75],
    ['Pacific/Kiritimati', '2026-01-01', 14],
    ['Etc/GMT+12', '2026-01-01', -12],
    ['Africa/Monrovia', '1970-01-01', -(44 * 60 + 30) / 3_600],
    ['Asia/Manila', '1844-01-01', -(15 * 3_600 + 56 * 60 + 8) / 3_600],
  ])('of %s at %s is %d hours', (timeZone, date, hours) => {
    expect(offsetAt(timeZone, at(date))).toBe(Math.round(hours * HOUR));
  });
});

describe('offsetChange', () => {
  it('is the first millisecond with the new offset', () => {
    const change = at('2026-03-29T01:00Z');
    for (const [before, after] of [
      [change - 16 * HOUR, change + 16 * HOUR],
      [change - 1, change],
      [change - 1, change + 7 * HOUR],
      [change - 12_345_678, change],
    ] as const) {
      expect(offsetChange('Europe/Berlin', before, after)).toBe(change);
    }
    expect(offsetAt('Europe/Berlin', change - 1)).toBe(HOUR);
    expect(offsetAt('Europe/Berlin', change)).toBe(2 * HOUR);
  });
});
