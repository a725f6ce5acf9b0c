import type { Check, CheckResult } from '../../../../src/core/check.js';
import type { Block, CalendarPeriod } from '../../../../src/core/counter-kind.js';
import type { Batch } from '../../../../src/store/redis/batch.js';
import { encodeMixed, readMixed } from '../../../../src/store/redis/mixed-codec.js';
import { check } from '../../../support/check.js';
import { pack } from '../../../support/message-pack.js';
import { batchOf, batchWith } from './batch.fixtures.js';

const MAX = Number.MAX_SAFE_INTEGER;
const SLIDING = { type: 'sliding-window' } as const;
const BUCKET = { type: 'token-bucket', burst: 8 } as const;
const MARCH: CalendarPeriod = { type: 'calendar', startsAtMs: 1_000, endsAtMs: 4_100, nextEndsAtMs: 7_100 };
const BLOCK: Block = { stepsMs: [5_000, 60_000], forgiveAfterMs: 86_400_000 };

const plain = (key: string): Check => check(key, { limit: 5 });
const sliding = (key: string, parts: Partial<Check> = {}): Check =>
  check(key, { kind: SLIDING, limit: 5, ...parts });
const bucket = (key: string, parts: Partial<Check> = {}): Check =>
  check(key, { kind: BUCKET, limit: 6, ...parts });

/** The arguments of a batch: the requests, then the runs. */
function encoded(batch: Batch): { keys: string[]; text: string; runs: number[] } {
  const { keys, args } = encodeMixed(batch);
  expect(args).toHaveLength(1);
  const [text, ...runs] = JSON.parse(args[0]!) as [string, ...number[]];
  return { keys, text, runs };
}

function answer(batch: Batch, values: readonly unknown[]): number {
  encodeMixed(batch);
  return readMixed(batch, pack(values), (text) => new Error(text));
}

const numbers = ({ used, remaining, resetAfterMs, retryAfterMs }: CheckResult): number[] => [
  used,
  remaining,
  resetAfterMs,
  retryAfterMs,
];

describe('encodeMixed', () => {
  it('has a run for each kind, with what the kind needs', () => {
    const { batch } = batchOf([
      plain('f'),
      check('c', { kind: MARCH, limit: 4, windowMs: 3_100 }),
      sliding('s', { block: BLOCK }),
      bucket('b'),
    ]);
    expect(encoded(batch)).toEqual({
      keys: ['f', 'c', 's', 'b'],
      text: '1,2,3,4,0,',
      runs: [
        ...[1, 60_000, 5, 1, 1, 0],
        ...[2, 3_100, 4, 1, 1, 3, 1_000, 4_100, 7_100],
        ...[13, 60_000, 5, 1, 1, 4, 86_400_000, 2, 5_000, 60_000],
        ...[4, 60_000, 8, 1, 1, 2, 6, 8],
      ],
    });
  });

  it('puts counters that are alike into one run', () => {
    const { batch } = batchOf([sliding('a'), bucket('b')], [sliding('c'), sliding('d', { limit: 9 })]);
    expect(encoded(batch)).toEqual({
      keys: ['a', 'c', 'b', 'd'],
      text: '1,3,0,2,4,0,',
      runs: [...[3, 60_000, 5, 1, 2, 0], ...[4, 60_000, 8, 1, 1, 2, 6, 8], ...[3, 60_000, 9, 1, 1, 0]],
    });
  });

  it('has -1 without a limit or a burst, and bounds the refill', () => {
    const { batch } = batchOf([
      sliding('s', { limit: Infinity }),
      bucket('b', { limit: Infinity, kind: { ...BUCKET, burst: Infinity } }),
    ]);
    expect(encoded(batch).runs).toEqual([3, 60_000, -1, 1, 1, 0, 4, 60_000, -1, 1, 1, 2, MAX, -1]);
  });

  it('has no room in a bucket that does not refill', () => {
    expect(encoded(batchOf([bucket('b', { limit: 0 })]).batch).runs).toEqual([4, 60_000, 0, 1, 1, 2, 0, 8]);
  });

  it('writes out a check with another cost or limit, or a mode', () => {
    const { batch } = batchOf([
      sliding('s'),
      sliding('s', { cost: 3 }),
      sliding('s', { limit: 9 }),
      sliding('s', { countDenied: true }),
      sliding('s', { shadow: true }),
      sliding('s', { countDenied: true, shadow: true, limit: Infinity }),
    ]);
    expect(encoded(batch)).toMatchObject({
      text: '1,-1,5,3,0,-1,9,1,0,-1,5,1,1,-1,5,1,2,-1,-1,1,3,0,',
      runs: [3, 60_000, 5, 8, 1, 0],
    });
  });

  it('requests tokens once, before all requests', () => {
    const { batch } = batchWith([
      { checks: [sliding('a')], charging: true },
      { checks: [sliding('b')], charging: true, onTokens: () => undefined },
    ]);
    expect(encoded(batch).text).toBe('@1,0,2,0,');
  });

  it('has a peek as nothing but a peek, and requests are decided one by one then', () => {
    const peeked = [sliding('a', { countDenied: true, shadow: true, cost: 2 })];
    const { batch } = batchWith([
      { checks: peeked, charging: false },
      { checks: [sliding('b')], charging: true },
    ]);
    expect(encoded(batch)).toMatchObject({
      text: '-1,5,2,4,0,2,0,',
      runs: [3, 60_000, -1, -1, 1, 0, 3, 60_000, 5, -1, 1, 0],
    });
  });

  it.each([
    ['a sum of costs that is not exact', [sliding('a', { cost: MAX }), sliding('a')], true],
    [
      'a check that reads a sliding window that another one charges',
      [sliding('a', { cost: 0 }), sliding('a')],
      true,
    ],
    ['a check that only reads a sliding window', [sliding('a', { cost: 0 }), sliding('b')], false],
    ['a check that reads a bucket that another one charges', [bucket('a', { cost: 0 }), bucket('a')], false],
  ])('decides requests one by one for %s: %#', (_, checks, isOneByOne) => {
    expect(encoded(batchOf(checks).batch).runs[3] === -1).toBe(isOneByOne);
  });

  it('has a calendar once, also if its next period has begun between two requests', () => {
    const april: CalendarPeriod = { ...MARCH, startsAtMs: 4_100, endsAtMs: 7_100, nextEndsAtMs: 10_200 };
    const of = (kind: CalendarPeriod): Check =>
      check('c', { kind, group: 'month', windowMs: kind.endsAtMs - kind.startsAtMs, limit: 5 });
    expect(encoded(batchOf([of(MARCH)], [of(april)]).batch)).toEqual({
      keys: ['c'],
      text: '1,0,1,0,',
      runs: [2, 3_100, 5, 2, 1, 3, 1_000, 4_100, 7_100],
    });
  });
});

describe('readMixed', () => {
  it('computes the result of each check from the counters after all requests', () => {
    const [s, b] = [sliding('s'), bucket('b')];
    const { batch, answers } = batchOf([s, b], [{ ...s, cost: 2 }, b]);
    // KEYS are s, b; a unit of the bucket has 60,000 parts, of which six flow in per millisecond
    expect(answer(batch, [0, 4, 60_100, 2 * 60_000, 20_000])).toBe(1);
    expect(answers.map(({ results }) => results!.map(numbers))).toEqual([
      [
        [2, 3, 60_100, 0],
        [1, 7, 10_000, 0],
      ],
      [
        [4, 1, 60_100, 0],
        [2, 6, 20_000, 0],
      ],
    ]);
  });

  it('computes the exact time until a bucket is full after each of its checks', () => {
    const b = bucket('b', { limit: 7 });
    const { batch, answers } = batchOf([b], [{ ...b, cost: 0 }, b]);
    // a part of a unit was missing before, and no whole number of milliseconds remains in the end
    expect(answer(batch, [0, 12_345 + 2 * 60_000, 18_907])).toBe(0);
    expect(answers.map(({ results }) => results!.map(numbers))).toEqual([
      [[2, 6, 10_335, 0]],
      [
        [2, 6, 10_335, 0],
        [3, 5, 18_907, 0],
      ],
    ]);
  });

  it('has nothing to wait for if a counter has no units', () => {
    const { batch, answers } = batchOf([sliding('s', { cost: 0 }), bucket('b', { cost: 0 })]);
    expect(answer(batch, [0, 0, 0, 0, 0])).toBe(0);
    expect(answers[0]!.results!.map(numbers)).toEqual([
      [0, 5, 0, 0],
      [0, 8, 0, 0],
    ]);
  });

  it('reads three numbers for each check if some request does not pass', () => {
    const { batch, answers } = batchOf([sliding('s')], [sliding('s'), bucket('b')], [bucket('b')]);
    expect(answer(batch, [1, 5, 60_100, 0, 5, 60_100, 3_700, 0, 0, 0, 8, 60_000, -60_000])).toBe(0);
    expect(answers[0]!.results).toMatchObject([{ allowed: true, used: 5, retryAfterMs: 0 }]);
    expect(answers[1]!.results).toMatchObject([
      { allowed: false, used: 5, remaining: 0, resetAfterMs: 60_100, retryAfterMs: 3_700 },
      { allowed: true, used: 0, remaining: 8, resetAfterMs: 0, retryAfterMs: 0 },
    ]);
    expect(answers[1]!.results![0]).not.toHaveProperty('blocked');
    expect(answers[2]!.results).toMatchObject([
      { allowed: false, blocked: true, used: 8, remaining: 0, resetAfterMs: 60_000, retryAfterMs: 60_000 },
    ]);
  });

  it('fails only the request whose key does not hold a counter', () => {
    const { batch, answers } = batchOf([sliding('a')], [sliding('b'), bucket('c')]);
    answer(batch, [1, 1, 60_100, 0, 'WRONGTYPE no', 0, 0, 'WRONGTYPE no', 0, 0]);
    expect(answers[0]!.results).toMatchObject([{ allowed: true, used: 1 }]);
    expect(answers[1]).toEqual({ error: new Error('WRONGTYPE no') });
  });

  it('gives each request its own tokens, by counter or by check', () => {
    const heard: (readonly number[])[] = [];
    const onTokens = (tokens: readonly number[]): void => void heard.push(tokens);
    const requests = [
      { checks: [sliding('a'), bucket('b')], charging: true, onTokens },
      { checks: [bucket('b')], charging: true, onTokens },
    ];
    answer(batchWith(requests).batch, [0, 1, 60_100, 2, 13_000, 777, 1_700_000_000_000]);
    expect(heard).toEqual([[777, 1_700_000_000_000], [1_700_000_000_000]]);
    heard.length = 0;
    answer(batchWith(requests).batch, [1, 1, 60_100, 0, 1, 9, 0, 8, 60_000, 9, 777, 1_700, -1]);
    expect(heard).toEqual([[777, 1_700], [-1]]);
  });

  it('counts the counters that a call has created', () => {
    const denied = batchWith([
      { checks: [sliding('a'), sliding('b', { countDenied: true })], charging: true },
      { checks: [sliding('c')], charging: true },
      { checks: [sliding('d')], charging: false },
      { checks: [sliding('e'), sliding('f', { shadow: true })], charging: true },
    ]).batch;
    // a is full, b is new, c is new, d is peeked at, e is new though f would deny
    const each = [5, 9, 9, 1, 9, 0, 1, 9, 0, 1, 9, 0, 1, 9, 0, 5, 9, 9];
    expect(answer(denied, [1, ...each])).toBe(3);
  });

  it.each([
    ['nothing', []],
    ['an unknown form', [2, 1, 60_100]],
    ['too few numbers', [0, 1]],
    ['too many numbers', [0, 1, 60_100, 0]],
    ['too few numbers for each check', [1, 1, 60_100]],
    ['an error instead of a counter', [0, 'ERR', 60_100]],
  ])('throws for %s, which the script never returns', (_, values) => {
    expect(() => answer(batchOf([sliding('s')]).batch, values)).toThrow('it is not a reply of the script');
  });
});
