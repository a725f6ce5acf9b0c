import {
  type AnyRule,
  defineRule,
  FreqLimit,
  type FreqLimitCheck,
  type FreqLimitOptions,
  type FreqLimitRule,
  type RuleChanges,
} from '../../src/index.js';

/* Compiled, never run: a typo or a wrong combination of algorithm, burst, calendar and block does not compile. */

declare const isTried: boolean;
declare const algorithm: 'sliding-window' | 'token-bucket';

export const right: FreqLimitRule[] = [
  { window: '1m', limit: 5, algorithm: 'fixed-window' },
  { window: () => '1m', limit: () => 5, algorithm: 'sliding-window', shadow: isTried, blockFor: '1h' },
  { window: '1m', limit: 5, algorithm: 'token-bucket' },
  { window: '1m', limit: 5, algorithm: 'token-bucket', burst: 10, shadow: isTried, cost: () => 2 },
  { window: '1m', limit: 5, algorithm: 'token-bucket', burst: async (context) => context.getType().length },
  { window: '1m', limit: 5, algorithm },
  { window: { calendar: 'month', startsAt: 15, timeZone: 'Europe/Berlin' }, limit: 5, shadow: isTried },
  { window: { calendar: 'day', timeZone: (context) => context.getType() }, limit: 5, countWhen: 'failure' },
  { window: '1m', limit: 5, blockFor: ['1m', 600, '1h'], forgiveAfter: '1d', shadow: isTried },
  { window: '1m', limit: 5, algorithm: undefined, burst: undefined, blockFor: undefined },
];

export const rightOfAnyKind: AnyRule[] = [
  ...right,
  { concurrency: 5 },
  {
    name: 'a',
    concurrency: () => 5,
    key: '{ip}',
    holdFor: 'connection',
    shadow: isTried,
    onStoreError: 'deny',
  },
  { concurrency: 5, limit: undefined },
];

export const wrongConcurrency: AnyRule[] = [
  // @ts-expect-error -- the concurrency is the limit
  { concurrency: 5, limit: 5 },
  // @ts-expect-error -- it has no window
  { concurrency: 5, window: '1m' },
  // @ts-expect-error -- it has no window
  { concurrency: 5, window: '1m', limit: 5 },
  // @ts-expect-error -- each request counts while it runs
  { concurrency: 5, countWhen: 'failure' },
  // @ts-expect-error -- each request uses one slot
  { concurrency: 5, cost: 2 },
  // @ts-expect-error -- it has no block
  { concurrency: 5, blockFor: '1h' },
  // @ts-expect-error -- not a time to hold
  { concurrency: 5, holdFor: 'socket' },
  // @ts-expect-error -- holdFor needs concurrency
  { window: '1m', limit: 5, holdFor: 'connection' },
];

const [first] = right;
export const spread: FreqLimitRule[] = first === undefined ? [] : [{ ...first, name: 'a', limit: 3 }];

export const wrong: FreqLimitRule[] = [
  // @ts-expect-error -- a burst needs a token bucket
  { window: '1m', limit: 5, burst: 10 },
  // @ts-expect-error -- a burst needs a token bucket
  { window: '1m', limit: 5, algorithm: 'sliding-window', burst: 10 },
  // @ts-expect-error -- a calendar has no algorithm
  { window: { calendar: 'month' }, limit: 5, algorithm: 'sliding-window' },
  // @ts-expect-error -- a calendar has no algorithm
  { window: { calendar: 'month' }, limit: 5, algorithm: 'token-bucket' },
  // @ts-expect-error -- a calendar has no burst
  { window: { calendar: 'month' }, limit: 5, burst: 5 },
  // @ts-expect-error -- a calendar has no block
  { window: { calendar: 'month' }, limit: 5, blockFor: '1h' },
  // @ts-expect-error -- not an algorithm
  { window: '1m', limit: 5, algorithm: 'sliding' },
  // @ts-expect-error -- algorithm is misspelled
  { window: '1m', limit: 5, algoritm: 'sliding-window' },
  // @ts-expect-error -- the unit of the calendar is misspelled
  { window: { calendar: 'mont' }, limit: 5 },
  // @ts-expect-error -- timeZone is misspelled
  { window: { calendar: 'month', timezone: 'UTC' }, limit: 5 },
  // @ts-expect-error -- a function returns a length, not a calendar
  { window: () => ({ calendar: 'month' }), limit: 5 },
  // @ts-expect-error -- a block is a length of time
  { window: '1m', limit: 5, blockFor: '1 hour' },
  // @ts-expect-error -- a block is a length of time
  { window: '1m', limit: 5, blockFor: ['1m', true] },
  // @ts-expect-error -- a burst is a number
  { window: '1m', limit: 5, algorithm: 'token-bucket', burst: '10' },
];

export const decorators = [
  FreqLimit({ calendar: 'month', timeZone: 'Europe/Berlin' }, 10_000, '{user.tenant}'),
  FreqLimit({ calendar: 'day', timeZone: (context) => context.getType() }, () => 5),
  FreqLimit('login', { burst: 5 }),
  FreqLimit('login', { algorithm: 'token-bucket', burst: 5 }),
  FreqLimit('login', { window: { calendar: 'day' } }),
  // @ts-expect-error -- the unit of the calendar is misspelled
  FreqLimit({ calendar: 'mont' }, 10_000),
  // @ts-expect-error -- timeZone is misspelled
  FreqLimit({ calendar: 'month', timezone: 'UTC' }, 10_000),
  // @ts-expect-error -- the limit is missing
  FreqLimit({ calendar: 'month' }),
  // @ts-expect-error -- a calendar is the window of a rule
  FreqLimit({ calendar: 'month', limit: 5 }),
  // @ts-expect-error -- a sliding window has no burst
  FreqLimit('login', { algorithm: 'sliding-window', burst: 5 }),
];

export const changes: RuleChanges[] = [{ burst: 5 }, { blockFor: '1h' }, { algorithm: 'sliding-window' }];

export const defined: FreqLimitOptions = {
  algorithm: 'sliding-window',
  rules: [
    defineRule({ window: String(1), limit: '5', algorithm: 'token-bucket', burst: '10' }),
    defineRule({ window: String(1), limit: 5, blockFor: ['1m', String(2)], forgiveAfter: String(3) }),
    defineRule({ window: { calendar: 'week' }, limit: '5' }),
    // @ts-expect-error -- a burst needs a token bucket
    defineRule({ window: '1m', limit: 5, burst: '10' }),
    // @ts-expect-error -- a calendar has no algorithm
    defineRule({ window: { calendar: 'week' }, limit: 5, algorithm: 'sliding-window' }),
  ],
  namedRules: {
    bucket: { window: '1m', limit: 5, algorithm: 'token-bucket', burst: 10 },
    quota: { window: { calendar: 'month' }, limit: 5 },
    // @ts-expect-error -- a burst needs a token bucket
    wrong: { window: '1m', limit: 5, burst: 10 },
  },
};

// @ts-expect-error -- not an algorithm of the module
export const wrongDefault: FreqLimitOptions = { algorithm: 'calendar' };

export const checks: FreqLimitCheck[] = [
  { key: 'ann', window: '1m', algorithm: 'sliding-window', blockFor: '1h' },
  { key: 'ann', window: '1m', limit: 5, algorithm: 'token-bucket', burst: 10 },
  { key: 'ann', window: { calendar: 'month', timeZone: 'Europe/Berlin' }, limit: 5 },
  { rule: 'a', key: 'ann', timeZone: 'UTC', burst: 5 },
  // @ts-expect-error -- a token bucket needs a limit
  { key: 'ann', window: '1m', algorithm: 'token-bucket' },
  // @ts-expect-error -- a burst needs a token bucket
  { key: 'ann', window: '1m', limit: 5, burst: 10 },
  // @ts-expect-error -- a calendar has no algorithm
  { key: 'ann', window: { calendar: 'month' }, limit: 5, algorithm: 'sliding-window' },
  // @ts-expect-error -- a check has no context for a function
  { key: 'ann', window: { calendar: 'month', timeZone: () => 'UTC' }, limit: 5 },
  // @ts-expect-error -- a rule has its own algorithm
  { rule: 'a', key: 'ann', algorithm: 'token-bucket' },
];
