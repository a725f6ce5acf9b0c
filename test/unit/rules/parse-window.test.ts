import { parseWindow } from '../../../src/rules/from-configuration.js';
import type { Window } from '../../../src/rules/rule.js';
import { thrownBy } from '../fixtures.js';

const EXPECTED =
  "a string with a unit ('500ms', '10s', '1m', '1h', '1d') or a number of seconds, from 1 ms to 2^53 - 1 ms";

describe('parseWindow', () => {
  it.each(['500ms', '1.5h', '15m', 60, 0.5])('returns %p as it is', (value) => {
    const window: Window = parseWindow(value);
    expect(window).toBe(value);
  });

  it.each<[unknown, string]>([
    [undefined, `is missing; is an environment variable not set? Expected ${EXPECTED}`],
    ['', `is empty; is an environment variable empty? Expected ${EXPECTED}`],
    [' \n', `is empty; is an environment variable empty? Expected ${EXPECTED}`],
    [
      '60',
      `"60" is not a window, because its unit is missing; write '60s' or Number('60') for seconds, '60ms' for milliseconds`,
    ],
    [
      '1.5',
      `"1.5" is not a window, because its unit is missing; write '1.5s' or Number('1.5') for seconds, '1.5ms' for milliseconds`,
    ],
    ['15 min', `"15 min" is not a window; expected ${EXPECTED}`],
    ['1m\r', `"1m\\r" is not a window; expected ${EXPECTED}`],
    [
      NaN,
      `NaN is not a window; expected ${EXPECTED}; Number(undefined) is NaN: is an environment variable not set?`,
    ],
    [0, `0 is not a window; expected ${EXPECTED}`],
    [null, `null is not a window; expected ${EXPECTED}`],
    [() => '1m', `[function anonymous] is not a window; expected ${EXPECTED}`],
  ])('throws for %p', (value, message) => {
    expect(thrownBy(() => parseWindow(value))).toMatchObject({
      code: 'FREQ_LIMIT_INVALID_RULE',
      message: `parseWindow: value: ${message}`,
    });
  });

  it('calls the value by the name that it is given', () => {
    expect(thrownBy(() => parseWindow(undefined, 'LOGIN_WINDOW')).message).toMatch(
      /^parseWindow: LOGIN_WINDOW: is missing; is an environment variable not set\?/,
    );
  });

  it('shows at most the start of a long value', () => {
    expect(thrownBy(() => parseWindow('9'.repeat(5_000))).message.length).toBeLessThan(400);
  });
});
