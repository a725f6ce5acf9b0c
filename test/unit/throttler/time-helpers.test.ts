import { days, hours, minutes, seconds, weeks } from '@nestjs/throttler';
import { toWindowMs } from '../../../src/rules/window.js';

describe('the windows that the migration page gives for the time helpers of the throttler', () => {
  it.each([
    [seconds(10), '10s'],
    [minutes(5), '5m'],
    [hours(1), '1h'],
    [days(1), '1d'],
    [weeks(2), '14d'],
    [minutes(2.5), `${minutes(2.5)}ms`],
  ])('%d ms are %s', (ms, window) => {
    expect(toWindowMs(window)).toBe(ms);
  });

  it.each([NaN, Infinity, 1e21, undefined])('a ttl of %p is not made a window', (ttl) => {
    expect(() => toWindowMs(`${ttl}ms`)).toThrow('is not a window');
  });
});
