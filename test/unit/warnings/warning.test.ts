import { joinNames } from '../../../src/warnings/warning.js';

it.each([
  [['A.a'], 'A.a'],
  [['A.a', 'B.b'], 'A.a, B.b'],
  [Array.from({ length: 8 }, (_, i) => `m${i}`), 'm0, m1, m2, m3, m4, m5, m6, m7'],
  [Array.from({ length: 10 }, (_, i) => `m${i}`), 'm0, m1, m2, m3, m4, m5, m6, m7 and 2 more'],
])('joins at most eight names of %j', (names, expected) => {
  expect(joinNames(names)).toBe(expected);
});
