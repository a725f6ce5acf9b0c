import { durationInWords, shortDuration } from '../../../src/core/duration-text.js';

describe('durationInWords', () => {
  it.each([
    [1, '1 second'],
    [8, '8 seconds'],
    [59, '59 seconds'],
    [60, '1 minute'],
    [61, '1 minute 1 second'],
    [90, '1 minute 30 seconds'],
    [900, '15 minutes'],
    [3_600, '1 hour'],
    [3_601, '1 hour 1 minute'],
    [7_199, '2 hours'],
    [60_000, '16 hours 40 minutes'],
    [86_399, '1 day'],
    [86_400, '1 day'],
    [90_000, '1 day 1 hour'],
    [90_001, '1 day 2 hours'],
    [86_400 * 30, '30 days'],
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(durationInWords(seconds)).toBe(text);
  });

  it('never promises a shorter wait', () => {
    const secondsOf = { day: 86_400, hour: 3_600, minute: 60, second: 1 };
    const wrong: number[] = [];
    for (let seconds = 1; seconds < 400_000; seconds += 97) {
      const parts = [...durationInWords(seconds).matchAll(/(\d+) (day|hour|minute|second)s?/g)];
      const written = parts.reduce((sum, [, n, unit]) => sum + Number(n) * secondsOf[unit as 'day'], 0);
      if (written < seconds || written - seconds >= Math.max(1, seconds / 23)) wrong.push(seconds);
    }
    expect(wrong).toEqual([]);
  });
});

describe('shortDuration', () => {
  it.each([
    [500, '500 ms'],
    [0.4, '1 ms'],
    [1_000, '1 s'],
    [1_500, '2 s'],
    [90_000, '1 min 30 s'],
    [900_000, '15 min'],
    [60_000_000, '16 h 40 min'],
    [86_400_000, '1 d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });
});
