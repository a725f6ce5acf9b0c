import fc from 'fast-check';
import { toWindowMs, windowName } from '../../../src/rules/window.js';

describe('toWindowMs', () => {
  it.each([
    ['1ms', 1],
    ['500ms', 500],
    ['10s', 10_000],
    ['1m', 60_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['365d', 31_536_000_000],
    ['1.5h', 5_400_000],
    ['0.5s', 500],
    ['0.001s', 1],
    ['1.1s', 1_100],
    ['60s', 60_000],
    ['9007199254740991ms', Number.MAX_SAFE_INTEGER],
    [60, 60_000],
    [0.5, 500],
    [0.001, 1],
    [1.1, 1_100],
    [86_400, 86_400_000],
    [60_000, 60_000_000],
    [269_896_925.742, 269_896_925_742],
  ])('reads %j as %d ms', (window, ms) => {
    expect(toWindowMs(window)).toBe(ms);
  });

  it.each([
    0,
    -0,
    -1,
    NaN,
    Infinity,
    -Infinity,
    0.0004,
    0.0015,
    2 ** 53,
    9_007_199_254_741,
    '0s',
    '0ms',
    '0.5ms',
    '0.0004s',
    '-1s',
    '+1s',
    '60',
    '',
    ' ',
    's',
    ' 1s',
    '1s ',
    '1s\n',
    '1 s',
    '1S',
    '1e3s',
    '.5s',
    '1.s',
    '1,5s',
    '1m30s',
    '1w',
    '1 fortnight',
    '0x10s',
    'NaNs',
    'Infinitys',
    '9007199254740992ms',
    '104249991375d',
    null,
    undefined,
    true,
    10n,
    {},
    [],
    ['1s'],
    new Date(0),
  ])('throws for %p', (window) => {
    expect(() => toWindowMs(window)).toThrow(RangeError);
  });

  it('says what was given and what is expected', () => {
    expect(() => toWindowMs('1 fortnight')).toThrow(
      "\"1 fortnight\" is not a window; expected a string with a unit ('500ms', '10s', '1m', '1h', '1d') or a number of seconds",
    );
  });

  it('reads any whole number of milliseconds, as a string and as seconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (ms) => {
        expect(toWindowMs(`${ms}ms`)).toBe(ms);
        expect(toWindowMs(ms / 1_000)).toBe(ms);
      }),
    );
  });
});

describe('windowName', () => {
  it.each([
    [1, '1ms'],
    [1_500, '1500ms'],
    [10_000, '10s'],
    [60_000, '1m'],
    [90_000, '90s'],
    [3_600_000, '1h'],
    [5_400_000, '90m'],
    [86_400_000, '1d'],
    [31_536_000_000, '365d'],
  ])('calls %d ms %s', (ms, name) => {
    expect(windowName(ms)).toBe(name);
  });

  it('gives a name that is the window again', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (ms) => {
        expect(toWindowMs(windowName(ms))).toBe(ms);
      }),
    );
  });
});
