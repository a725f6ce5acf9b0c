import type { Check, CheckResult } from '../../../../src/core/check.js';
import type { Batch } from '../../../../src/store/redis/batch.js';
import { encodeBatch, readReply } from '../../../../src/store/redis/consume-codec.js';
import { check } from '../../../support/check.js';
import { pack } from '../../../support/message-pack.js';
import { type AnsweredBatch, batchOf, batchWith } from './batch.fixtures.js';

const [a, b, c] = ['a', 'b', 'c'].map((key) => check(key, { limit: 5 })) as [Check, Check, Check];

/** Encodes a batch and reads a reply of these values to it; returns how many counters it has created. */
function answer(batch: Batch, values: readonly unknown[]): number {
  return answerBy(batch, pack(values));
}

function answerBy(batch: Batch, reply: unknown): number {
  encodeBatch(batch);
  return readReply(batch, reply, (text) => new Error(text));
}

describe('encodeBatch', () => {
  it('has each counter once, in runs with the same window, limit and cost', () => {
    const day = check('d', { windowMs: 86_400_000, limit: 10 });
    const { batch } = batchOf([a, day], [b, day], [c]);
    expect(encodeBatch(batch)).toEqual({
      keys: ['a', 'b', 'c', 'd'],
      args: ['["1,4,0,2,4,0,3,0,",60000,5,1,3,86400000,10,2,1]'],
    });
  });

  it('has the lowest limit and the sum of the costs of a counter', () => {
    const { batch } = batchOf(
      [{ ...a, limit: 9, cost: 4 }],
      [{ ...a, limit: 7, cost: 0 }],
      [{ ...a, limit: Infinity }],
    );
    expect(encodeBatch(batch).args).toEqual(['["-1,9,4,0,-1,7,0,0,-1,-1,1,0,",60000,7,5,1]']);
  });

  it('has -1 if there is no limit, and marks countDenied', () => {
    const { batch } = batchOf([{ ...a, limit: Infinity, countDenied: true }]);
    expect(encodeBatch(batch).args).toEqual(['["-1,-1,-1,0,",60000,-1,1,1]']);
  });

  it('has -1 instead of a sum that is too large to be exact', () => {
    const half = { ...a, limit: Infinity, cost: 2 ** 52 };
    expect(encodeBatch(batchOf([half, { ...half, cost: 2 ** 52 - 1 }]).batch).args[0]).toMatch(
      /",60000,-1,9007199254740991,1\]$/,
    );
    expect(encodeBatch(batchOf([half, half]).batch).args[0]).toMatch(/",60000,-1,-1,1\]$/);
  });

  it('charges nothing for a peek, and gives it no limit', () => {
    const { batch } = batchWith([{ checks: [a], charging: false }]);
    expect(encodeBatch(batch).args).toEqual(['["-1,-1,0,0,",60000,-1,0,1]']);
  });
});

describe('readReply', () => {
  it('computes the count after each request from the final count', () => {
    const { batch, answers } = batchOf([a, b], [a], [a, a]);
    answer(batch, [0, 4, 9_000, 1, 60_000]);
    expect(answers.map(({ results }) => results!.map(({ used, remaining }) => [used, remaining]))).toEqual([
      [
        [1, 4],
        [1, 4],
      ],
      [[2, 3]],
      [
        [3, 2],
        [4, 1],
      ],
    ]);
    expect(answers[1]!.results![0]).toMatchObject({ allowed: true, resetAfterMs: 9_000, retryAfterMs: 0 });
  });

  it('has no window before the request that opened it', () => {
    const { batch, answers } = batchOf([{ ...a, cost: 0 }], [a]);
    answer(batch, [0, 1, 60_000]);
    expect(answers.map(({ results }) => [results![0]!.used, results![0]!.resetAfterMs])).toEqual([
      [0, 0],
      [1, 60_000],
    ]);
  });

  it('reads the numbers of each check if some request is denied', () => {
    const { batch, answers } = batchOf([a], [a, b]);
    answer(batch, [1, 5, 9_000, 5, -9_001, 0, 0]);
    expect(answers[0]!.results).toMatchObject([{ allowed: true, used: 5, resetAfterMs: 9_000 }]);
    expect(answers[1]!.results).toMatchObject([
      { allowed: false, used: 5, resetAfterMs: 9_000, retryAfterMs: 9_001 },
      { allowed: true, used: 0, resetAfterMs: 0, retryAfterMs: 0 },
    ]);
  });

  it('fails only the request whose key does not hold a counter', () => {
    const { batch, answers } = batchOf([a], [b, c], [c]);
    answer(batch, [1, 1, 60_000, 'WRONGTYPE no', 0, 'WRONGTYPE no', 0, 1, 60_000]);
    expect(answers[0]!.results).toHaveLength(1);
    expect(answers[1]).toEqual({ error: new Error('WRONGTYPE no') });
    expect(answers[2]!.results).toHaveLength(1);
  });

  it('reads numbers up to 2^53 - 1 exactly', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const vast = { ...a, limit: most };
    const { batch, answers } = batchOf([vast], [vast]);
    answer(batch, [0, most, most]);
    expect(answers.map(({ results }) => results![0])).toMatchObject([
      { used: most - 1, remaining: 1, resetAfterMs: most },
      { used: most, remaining: 0, resetAfterMs: most },
    ]);
    answer(batch, [1, most - 1, most - 1, most, -most]);
    expect(answers.map(({ results }) => results![0])).toMatchObject([
      { allowed: true, used: most - 1, resetAfterMs: most - 1 },
      { allowed: false, used: most, resetAfterMs: most - 1 },
    ]);
  });

  it('computes for a peek whether the request would pass', () => {
    const peeks = [a, { ...a, cost: 6 }].map((one) => ({ checks: [one], charging: false }));
    const { batch, answers } = batchWith(peeks);
    answer(batch, [0, 4, 9_000]);
    expect(answers.map(({ results }) => [results![0]!.allowed, results![0]!.used])).toEqual([
      [true, 4],
      [false, 4],
    ]);
  });

  it.each([
    ['null', null],
    ['a string', 'OK'],
    ['an array that is not packed', [0, 1, 60_000]],
    ['bytes of another reply', Buffer.from('OK')],
    ['half of a reply', pack([0, 1, 60_000]).subarray(0, 4)],
    ['more than a reply', Buffer.concat([pack([0, 1, 60_000]), pack(0)])],
  ])('throws for %s, which the script never returns', (_, reply) => {
    const { batch } = batchOf([a]);
    expect(() => answerBy(batch, reply)).toThrow('it is not a reply of the script');
  });

  it.each([
    ['no values', []],
    ['another kind', [2, 1, 1]],
    ['a kind that is a string', ['0', 1, 1]],
    ['too few values', [0, 1]],
    ['too many values', [0, 1, 1, 1]],
    ['strings', [0, 'a', 'b']],
    ['numbers as strings', [0, '1', '60000']],
    ['numbers as strings for each check', [1, 1, '60000']],
    ['holes', [0, null, null]],
    ['lists', [0, [1], [2]]],
    ['fractions', [0, 1.5, 2.5]],
    ['too few values of each check', [1, 1]],
    ['a time that is not a number', [1, 1, 'x']],
  ])('throws for an array with %s, which the script never returns', (_, values) => {
    const { batch } = batchOf([a]);
    expect(() => answer(batch, values)).toThrow('it is not a reply of the script');
  });
});

describe('a call that asks for the ends of windows', () => {
  const heard: [endsAtMs: readonly number[], used: number[]][] = [];
  const onTokens = (endsAtMs: readonly number[], results: readonly CheckResult[]): void => {
    heard.push([endsAtMs, results.map(({ used }) => used)]);
  };

  function asking(...requests: { checks: readonly Check[]; wants: boolean }[]): AnsweredBatch {
    heard.length = 0;
    return batchWith(
      requests.map(({ checks, wants }) => ({
        checks,
        charging: true,
        onTokens: wants ? onTokens : undefined,
      })),
    );
  }

  it('says this once, before all requests', () => {
    const { batch } = asking(
      { checks: [a], wants: false },
      { checks: [b], wants: true },
      { checks: [c], wants: true },
    );
    expect(encodeBatch(batch).args[0]).toMatch(/^\["@1,0,2,0,3,0,",/);
    expect(encodeBatch(asking({ checks: [a], wants: false }).batch).args[0]).toMatch(/^\["1,0,",/);
  });

  it('gives each request that needs them the ends for its own checks', () => {
    const { batch, answers } = asking({ checks: [a], wants: false }, { checks: [b, a, b], wants: true });
    answer(batch, [0, 2, 60_000, 2, 50_000, 1_700_000_060_000, 1_700_000_050_000]);
    expect(heard).toEqual([
      [
        [1_700_000_050_000, 1_700_000_060_000, 1_700_000_050_000],
        [1, 2, 2],
      ],
    ]);
    expect(answers.map(({ results }) => results!.map(({ used }) => used))).toEqual([[1], [1, 2, 2]]);
  });

  it('uses the indexes of the counters, not the order of the checks', () => {
    // b has another cost, so c comes before it
    const { batch } = asking({ checks: [a, { ...b, cost: 2 }, c], wants: true });
    expect(encodeBatch(batch).keys).toEqual(['a', 'c', 'b']);
    answer(batch, [0, 1, 1, 1, 3, 2, 2, 11, 33, 22]);
    expect(heard).toEqual([
      [
        [11, 22, 33],
        [1, 2, 1],
      ],
    ]);
  });

  it('gives the ends if some request is denied or fails', () => {
    const { batch, answers } = asking(
      { checks: [a], wants: true },
      { checks: [b], wants: true },
      { checks: [c], wants: true },
    );
    answer(batch, [1, 5, -9_001, 'WRONGTYPE no', 0, 1, 60_000, 1_700_000_009_000, -1, 1_700_000_060_000]);
    expect(heard).toEqual([
      [[1_700_000_009_000], [5]],
      [[1_700_000_060_000], [1]],
    ]);
    expect(answers[1]!.error).toEqual(new Error('WRONGTYPE no'));
  });

  it.each([
    ['no end', [0, 1, 60_000]],
    ['no end when some are denied', [1, 5, -9_001]],
    ['too many ends', [0, 1, 60_000, 1, 2]],
    ['an end that is not a number', [0, 1, 60_000, 'soon']],
    ['an end that is a string', [0, 1, 60_000, '1']],
    ['no values', []],
  ])('throws for %s', (_, values) => {
    const { batch } = asking({ checks: [a], wants: true });
    expect(() => answer(batch, values)).toThrow('it is not a reply of the script');
  });
});

describe('the number of created counters', () => {
  const full = check('full', { limit: 1 });

  it('includes a counter that contains only what was charged', () => {
    expect(answer(batchOf([a, b], [a]).batch, [0, 2, 60_000, 5, 60_000])).toBe(1);
  });

  it('includes nothing for a peek', () => {
    const { batch } = batchWith([{ checks: [a, b], charging: false }]);
    expect(answer(batch, [0, 0, 0, 1, 60_000])).toBe(0);
  });

  it('includes what other requests have opened if some request is denied', () => {
    const { batch } = batchWith([
      { checks: [full, b], charging: true },
      { checks: [c], charging: true },
      { checks: [a], charging: false },
      { checks: [{ ...full, countDenied: true }, b], charging: true },
    ]);
    expect(answer(batch, [1, 1, -60_001, 0, 0, 1, 60_000, 1, 60_000, 2, -60_001, 0, 0])).toBe(1);
  });
});
