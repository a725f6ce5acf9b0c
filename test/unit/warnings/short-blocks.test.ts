import { questionableWindows } from '../../../src/warnings/window-warnings.js';
import { shortBlocks } from '../../../src/warnings/short-blocks.js';
import { declared } from '../fixtures.js';
import { plannedHandler } from './handlers.js';

type Parts = Readonly<Record<string, unknown>>;

const warningsFor = (...rules: readonly Parts[]): string[] => {
  const handler = plannedHandler(
    'send',
    rules.map((rule, i) => declared({ window: '15m', limit: 5, ...rule }, 'handler', `rule ${i}`)),
  );
  const warnings = shortBlocks([handler, handler]);
  expect(warnings.every(({ code }) => code === 'FREQ_LIMIT_SHORT_BLOCK')).toBe(true);
  return warnings.map(({ message }) => message);
};

const BUCKET = { algorithm: 'token-bucket', window: '1m', limit: 60, burst: 600 };

describe('a block', () => {
  it.each<[Parts, first: string, full: string]>([
    [{ blockFor: '1m' }, '1m', '15m'],
    [{ blockFor: ['1m', '10m', '1h'], algorithm: 'sliding-window' }, '1m', '15m'],
    [{ blockFor: '9m', ...BUCKET }, '9m', '10m'],
  ])('that is shorter than the window is worth a line: %j', (rule, first, full) => {
    expect(warningsFor(rule)).toEqual([
      `rule 0: blockFor: ${first} is shorter than the ${full} in which a client gets all its units back. A block lasts at least ` +
        `until then, so it can be longer than ${first}. Write at least '${full}', or remove blockFor: without a block, a client ` +
        'waits until its request would pass.',
    ]);
  });

  it.each<[string, Parts]>([
    ['as long as the window', { blockFor: '15m' }],
    ['as long as the window, and longer later', { blockFor: ['15m', '1h'] }],
    ['as long as a bucket needs to fill', { blockFor: '10m', ...BUCKET }],
    ['with a window from a function', { blockFor: '1m', window: () => '15m' }],
    ['with a limit from a function', { blockFor: '1s', ...BUCKET, limit: () => 5 }],
    ['with a burst from a function', { blockFor: '1s', ...BUCKET, burst: () => 5 }],
    ['of a shadow rule', { blockFor: '1m', shadow: true }],
    ['that does not exist', {}],
  ])('%s is not', (_, rule) => {
    expect(warningsFor(rule)).toEqual([]);
  });

  it('has one line for all rules with the same lengths', () => {
    expect(warningsFor({ blockFor: '1m' }, { blockFor: '1m', name: 'a' })).toEqual([
      expect.stringMatching(/^rule 0, rule 1: blockFor: /),
    ]);
  });

  it('with a questionable unit is worth a line, as a window is', () => {
    const rule = { window: '15m', limit: 5, blockFor: [60, 60_000], forgiveAfter: 0.06 };
    expect(questionableWindows([declared(rule, 'app', 'here')])).toEqual([
      {
        code: 'FREQ_LIMIT_WINDOW_LOOKS_LIKE_MS',
        message:
          "here: blockFor: 60000 is 16 h 40 min, because a number is in seconds. If you mean milliseconds, write '1m'. If you mean " +
          "seconds, write '60000s'.",
      },
      {
        code: 'FREQ_LIMIT_SHORT_WINDOW',
        message: expect.stringMatching(/^here: forgiveAfter: 0\.06 is 60 ms/),
      },
    ]);
    expect(questionableWindows([declared({ window: { calendar: 'month' }, limit: 5 })])).toEqual([]);
  });
});
