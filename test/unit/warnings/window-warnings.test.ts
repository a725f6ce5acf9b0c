import {
  logServiceWindows,
  looksLikeMilliseconds,
  questionableWindows,
  windowAdvice,
} from '../../../src/warnings/window-warnings.js';
import { declared } from '../fixtures.js';
import { captureLog, logLine } from '../../support/log.js';

const { lines } = captureLog();

const messageFor = (window: unknown): string | undefined => windowAdvice(window)?.message;

describe('a window that is a large number', () => {
  it.each([
    [1_000, '16 min 40 s', '1s'],
    [5_000, '1 h 24 min', '5s'],
    [60_000, '16 h 40 min', '1m'],
    [90_000, '1 d 1 h', '90s'],
    [900_000, '10 d 10 h', '15m'],
    [3_600_000, '41 d 16 h', '1h'],
    [86_400_000, '1000 d', '1d'],
  ])('of %i is %s, or %s', (window, length, meant) => {
    expect(windowAdvice(window)).toEqual({
      code: 'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS',
      message:
        `window: ${window} is ${length}, because a number is in seconds. If you mean milliseconds, write '${meant}'. If you ` +
        `mean seconds, write '${window}s'.`,
    });
    expect(windowAdvice(`${window}s`)).toBeUndefined();
    expect(windowAdvice(meant)).toBeUndefined();
  });

  it.each<[number, boolean]>([
    [60, false],
    [900, false],
    [3_000, false], // 50 minutes
    [3_600, false],
    [9_000, false], // 2 h 30 min
    [10_000, true],
    [36_000, false], // 10 hours
    [45_000, true],
    [86_400, false],
    [432_000, false], // 5 days
    [2_592_000, false], // 30 days
    [31_536_000, false], // 365 days
    [31_622_401, true], // more than a year
    [63_072_000, true],
    [1_700_000_000_000, true],
  ])('of %i looks like milliseconds: %s', (window, answer) => {
    expect(looksLikeMilliseconds(window)).toBe(answer);
  });
});

describe('a window below a second', () => {
  it.each<[string | number, string]>([
    [
      '60ms',
      "window: '60ms' is less than a second. If you mean seconds, write '60s'. If you mean milliseconds, write '0.06s'.",
    ],
    [
      '900ms',
      "window: '900ms' is less than a second. If you mean seconds, write '900s'. If you mean milliseconds, write '0.9s'.",
    ],
    [
      '1ms',
      "window: '1ms' is less than a second. If you mean seconds, write '1s'. If you mean milliseconds, write '0.001s'.",
    ],
    [
      0.06,
      "window: 0.06 is 60 ms, because a number is in seconds. If you mean 60 s, write '60s'. If you mean 60 ms, write '0.06s'.",
    ],
    [
      0.9,
      "window: 0.9 is 900 ms, because a number is in seconds. If you mean 900 s, write '900s'. If you mean 900 ms, write '0.9s'.",
    ],
    [
      0.5,
      "window: 0.5 is 500 ms, because a number is in seconds. If you mean 0.5 minutes, write '30s'. If you mean 500 ms, write '0.5s'.",
    ],
    [
      0.25,
      "window: 0.25 is 250 ms, because a number is in seconds. If you mean 0.25 minutes, write '15s'. If you mean 250 ms, write '0.25s'.",
    ],
  ])('of %p has a warning, and both forms that it offers have none', (window, message) => {
    expect(windowAdvice(window)).toEqual({ code: 'FREQ_LIMIT_SHORT_WINDOW', message });
    const offered = [...message.matchAll(/write '([^']+)'/g)].map(([, form]) => form);
    expect(offered).toHaveLength(2);
    expect(offered.map(messageFor)).toEqual([undefined, undefined]);
  });

  it.each([
    '100ms',
    '200ms',
    '250ms',
    '500ms',
    '750ms',
    '0.5s',
    '0.06s',
    '1000ms',
    '1500ms',
    '60000ms',
    1,
    1.5,
  ])('of %p is meant, or is not one', (window) => {
    expect(windowAdvice(window)).toBeUndefined();
  });

  it.each([undefined, null, () => 60_000, '60', {}])('is not known of %p', (window) => {
    expect(windowAdvice(window)).toBeUndefined();
  });
});

it('has one warning for each place', () => {
  const rules = [
    declared({ window: 0.5, limit: 1 }, 'handler', 'here'),
    declared({ window: 0.5, limit: 2 }, 'handler', 'here'),
    declared({ window: '60ms', limit: 1 }, 'handler', 'there'),
    declared({ window: '1m', limit: 1 }, 'handler', 'elsewhere'),
  ];
  expect(questionableWindows(rules).map(({ message }) => message.slice(0, 20))).toEqual([
    'here: window: 0.5 is',
    "there: window: '60ms",
  ]);
});

describe('windows of checks of the service', () => {
  it('have one line for each', () => {
    const log = logServiceWindows();
    for (const window of [60_000, 60, 60_000, '30ms']) log(window);
    expect(lines).toEqual([
      logLine('FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS', 'FreqLimitService: check: window: 60000 is 16 h 40 min'),
      logLine('FREQ_LIMIT_SHORT_WINDOW', "FreqLimitService: check: window: '30ms' is less than a second"),
    ]);
  });

  it('have at most 20 lines', () => {
    const log = logServiceWindows();
    for (let i = 1; i < 50; i++) log(`${i}ms`);
    expect(lines).toHaveLength(20);
  });
});
