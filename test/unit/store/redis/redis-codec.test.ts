import { type Check, type CheckResult, toResult } from '../../../../src/core/check.js';
import { Batch, encodeRefunds, readRefunds } from '../../../../src/store/redis/redis-codec.js';
import { check } from '../../../support/check.js';

interface Answer {
  results?: CheckResult[];
  error?: unknown;
}

function batchOf(...requests: (readonly Check[])[]): { batch: Batch; answers: Answer[] } {
  return batchWith(requests.map((checks) => ({ checks, charging: true })));
}

function batchWith(requests: { checks: readonly Check[]; charging: boolean }[]): {
  batch: Batch;
  answers: Answer[];
} {
  const batch = new Batch();
  const answers: Answer[] = requests.map(() => ({}));
  requests.forEach((request, i) => {
    batch.add({
      ...request,
      onEnds: undefined,
      resolve: (results) => void (answers[i]!.results = results),
      reject: (error) => void (answers[i]!.error = error),
    });
  });
  return { batch, answers };
}

const same = (error: Error): Error => error;
const [a, b, c] = ['a', 'b', 'c'].map((key) => check(key, { limit: 5 })) as [Check, Check, Check];

describe('Batch.encode', () => {
  it('names each counter once, in runs that share window, limit and cost', () => {
    const day = check('d', { windowMs: 86_400_000, limit: 10 });
    const { batch } = batchOf([a, day], [b, day], [c]);
    expect(batch.encode()).toEqual({
      keys: ['a', 'b', 'c', 'd'],
      args: ['1,5,1,4,10,1,0,2,5,1,4,10,1,0,3,5,1,0,', '60000', '5', '1', '3', '86400000', '10', '2', '1'],
    });
  });

  it('sends the lowest limit and the sum of the costs of a counter', () => {
    const { batch } = batchOf(
      [{ ...a, limit: 9, cost: 4 }],
      [{ ...a, limit: 7, cost: 0 }],
      [{ ...a, limit: Infinity }],
    );
    expect(batch.encode().args).toEqual(['1,9,4,0,1,7,0,0,1,-1,1,0,', '60000', '7', '5', '1']);
  });

  it('sends -1 where there is no limit, and marks countDenied', () => {
    const { batch } = batchOf([{ ...a, limit: Infinity, countDenied: true }]);
    expect(batch.encode().args).toEqual(['-1,-1,1,0,', '60000', '-1', '1', '1']);
  });

  it('has no sum sent that is too large to be exact', () => {
    const half = { ...a, limit: Infinity, cost: 2 ** 52 };
    expect(batchOf([half, { ...half, cost: 2 ** 52 - 1 }]).batch.encode().args[3]).toBe('9007199254740991');
    expect(batchOf([half, half]).batch.encode().args[3]).toBe('-1');
  });

  it('charges nothing for a look, and lets it deny nothing', () => {
    const { batch } = batchWith([{ checks: [a], charging: false }]);
    expect(batch.encode().args).toEqual(['1,-1,0,0,', '60000', '-1', '0', '1']);
  });
});

describe('Batch.fits', () => {
  const many = (count: number, same: boolean): Check[] =>
    Array.from({ length: count }, (_, i) => check(same ? 'k' : `k${i}`, { limit: 5 }));

  it('takes a first request of any size', () => {
    expect(new Batch().fits(many(1_000, false))).toBe(true);
  });

  it.each([
    ['counters', many(64, false), false],
    ['checks', many(256, true), false],
    ['cost', [check('k', { cost: Number.MAX_SAFE_INTEGER })], false],
    ['none of these', many(47, false), true],
  ])('has a bound in %s', (_, first, fits) => {
    expect(batchOf(first).batch.fits([a])).toBe(fits);
  });
});

describe('Batch.answer', () => {
  it('hands visit j of n the count less n plus j', () => {
    const { batch, answers } = batchOf([a, b], [a], [a, a]);
    batch.encode();
    batch.answer([0, 4, 9_000, 1, 60_000], same);
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

  it('knows of no window before the visit that opened it', () => {
    const { batch, answers } = batchOf([{ ...a, cost: 0 }], [a]);
    batch.encode();
    batch.answer([0, 1, 60_000], same);
    expect(answers.map(({ results }) => [results![0]!.used, results![0]!.resetAfterMs])).toEqual([
      [0, 0],
      [1, 60_000],
    ]);
  });

  it('reads each check’s own numbers where some request is denied', () => {
    const { batch, answers } = batchOf([a], [a, b]);
    batch.encode();
    batch.answer([1, 5, 9_000, 5, -9_001, 0, 0], same);
    expect(answers[0]!.results).toMatchObject([{ allowed: true, used: 5, resetAfterMs: 9_000 }]);
    expect(answers[1]!.results).toMatchObject([
      { allowed: false, used: 5, resetAfterMs: 9_000, retryAfterMs: 9_001 },
      { allowed: true, used: 0, resetAfterMs: 0, retryAfterMs: 0 },
    ]);
  });

  it('fails only the request whose key holds no counter', () => {
    const { batch, answers } = batchOf([a], [b, c], [c]);
    batch.encode();
    batch.answer([1, 1, 60_000, 'WRONGTYPE no', 0, 'WRONGTYPE no', 0, 1, 60_000], same);
    expect(answers[0]!.results).toHaveLength(1);
    expect(answers[1]).toEqual({ error: new Error('WRONGTYPE no') });
    expect(answers[2]!.results).toHaveLength(1);
  });

  it('reads texts from a client that keeps numbers as such', () => {
    const { batch, answers } = batchOf([a]);
    batch.encode();
    batch.answer(['0', '5', '9000'], same);
    expect(answers[0]!.results).toMatchObject([{ used: 5, resetAfterMs: 9_000 }]);
    batch.answer(['1', '5', '-9001'], same);
    expect(answers[0]!.results).toMatchObject([{ allowed: false, resetAfterMs: 9_000 }]);
  });

  it('says of a look whether the visit would pass', () => {
    const looks = [a, { ...a, cost: 6 }].map((one) => ({ checks: [one], charging: false }));
    const { batch, answers } = batchWith(looks);
    batch.encode();
    batch.answer([0, 4, 9_000], same);
    expect(answers.map(({ results }) => [results![0]!.allowed, results![0]!.used])).toEqual([
      [true, 4],
      [false, 4],
    ]);
  });

  it.each([
    ['nothing', null],
    ['a text', 'OK'],
    ['an empty list', []],
    ['another kind', [2, 1, 1]],
    ['too few', [0, 1]],
    ['too many', [0, 1, 1, 1]],
    ['texts', [0, 'a', 'b']],
    ['holes', [0, null, null]],
    ['lists', [0, [1], [2]]],
    ['fractions', [0, 1.5, 2.5]],
    ['too few of each', [1, 1]],
    ['no time of each', [1, 1, 'x']],
  ])('refuses %s, since the script never answers so', (_, reply) => {
    const { batch } = batchOf([a]);
    batch.encode();
    expect(() => batch.answer(reply, same)).toThrow('Redis answered what the script never does');
  });
});

describe('a call that asks for the ends of windows', () => {
  const told: [endsAtMs: readonly number[], used: number[]][] = [];
  const onEnds = (endsAtMs: readonly number[], results: readonly CheckResult[]): void => {
    told.push([endsAtMs, results.map(({ used }) => used)]);
  };

  function asking(...requests: { checks: readonly Check[]; wants: boolean }[]): {
    batch: Batch;
    answers: Answer[];
  } {
    told.length = 0;
    const batch = new Batch();
    const answers: Answer[] = requests.map(() => ({}));
    requests.forEach(({ checks, wants }, i) => {
      batch.add({
        checks,
        charging: true,
        onEnds: wants ? onEnds : undefined,
        resolve: (results) => void (answers[i]!.results = results),
        reject: (error) => void (answers[i]!.error = error),
      });
    });
    return { batch, answers };
  }

  it('says so before all requests, once', () => {
    const { batch } = asking(
      { checks: [a], wants: false },
      { checks: [b], wants: true },
      { checks: [c], wants: true },
    );
    expect(batch.encode().args[0]).toBe('@1,5,1,0,2,5,1,0,3,5,1,0,');
    expect(asking({ checks: [a], wants: false }).batch.encode().args[0]).toBe('1,5,1,0,');
  });

  it('tells those who want it, each of its own checks', () => {
    const { batch, answers } = asking({ checks: [a], wants: false }, { checks: [b, a, b], wants: true });
    batch.encode();
    batch.answer([0, 2, 60_000, 2, 50_000, '1700000060000', '1700000050000'], same);
    expect(told).toEqual([
      [
        [1_700_000_050_000, 1_700_000_060_000, 1_700_000_050_000],
        [1, 2, 2],
      ],
    ]);
    expect(answers.map(({ results }) => results!.map(({ used }) => used))).toEqual([[1], [1, 2, 2]]);
  });

  it('goes by the places of the counters, not by the order of the checks', () => {
    // b costs what no other does, so that c stands before it
    const { batch } = asking({ checks: [a, { ...b, cost: 2 }, c], wants: true });
    expect(batch.encode().keys).toEqual(['a', 'c', 'b']);
    batch.answer([0, 1, 1, 1, 3, 2, 2, '11', '33', '22'], same);
    expect(told).toEqual([
      [
        [11, 22, 33],
        [1, 2, 1],
      ],
    ]);
  });

  it('tells it where some request is denied, or fails', () => {
    const { batch, answers } = asking(
      { checks: [a], wants: true },
      { checks: [b], wants: true },
      { checks: [c], wants: true },
    );
    batch.encode();
    batch.answer(
      [1, 5, -9_001, 'WRONGTYPE no', 0, 1, 60_000, '1700000009000', '-1', 1_700_000_060_000],
      same,
    );
    expect(told).toEqual([
      [[1_700_000_009_000], [5]],
      [[1_700_000_060_000], [1]],
    ]);
    expect(answers[1]!.error).toEqual(new Error('WRONGTYPE no'));
  });

  it.each([
    ['no end', [0, 1, 60_000]],
    ['no end where some are denied', [1, 5, -9_001]],
    ['too many ends', [0, 1, 60_000, '1', '2']],
    ['an end that is none', [0, 1, 60_000, 'soon']],
    ['nothing', []],
  ])('refuses %s', (_, reply) => {
    const { batch } = asking({ checks: [a], wants: true });
    batch.encode();
    expect(() => batch.answer(reply, same)).toThrow('Redis answered what the script never does');
  });
});

describe('what a batch says of itself', () => {
  it('is divisible where it goes to several counters', () => {
    expect(batchOf([a], [a, a]).batch.isDivisible).toBe(false);
    expect(batchOf([a], [b]).batch.isDivisible).toBe(true);
    expect(new Batch().isDivisible).toBe(false);
  });

  it('names one of its counters, and its requests in order', () => {
    const { batch } = batchOf([b], [a, c]);
    expect(batch.someKey).toBe('b');
    expect(batch.requests.map(({ checks }) => checks)).toEqual([[b], [a, c]]);
    expect(new Batch().someKey).toBe('');
  });

  it('fails all of its requests alike', () => {
    const { batch, answers } = batchOf([a], [b]);
    const error = new Error('down');
    batch.fail(error);
    expect(answers).toEqual([{ error }, { error }]);
  });
});

describe('refunds', () => {
  const refunds = [
    { check: a, result: toResult(a, true, 3, 9_000), endsAtMs: 1_700_000_009_000 },
    {
      check: { ...b, cost: 4, windowMs: 86_400_000 },
      result: toResult(b, true, 4, 1),
      endsAtMs: 1_700_000_000_001,
    },
  ];

  it('are three numbers for each counter', () => {
    expect(encodeRefunds(refunds)).toEqual({
      keys: ['a', 'b'],
      args: ['60000', '1700000009000', '1', '86400000', '1700000000001', '4'],
    });
    expect(encodeRefunds([])).toEqual({ keys: [], args: [] });
  });

  it('answer what is used now, and keep what was decided', () => {
    expect(readRefunds(refunds, ['2', 8_999, '0', 0])).toMatchObject([
      { name: 'a', allowed: true, used: 2, remaining: 3, resetAfterMs: 8_999, source: 'store' },
      { name: 'b', allowed: true, used: 0, remaining: 5, resetAfterMs: 0, source: 'store' },
    ]);
    const denied = { check: a, result: toResult(a, false, 5, 9_000), endsAtMs: 1 };
    expect(readRefunds([denied], [5, '9000'])).toMatchObject([{ allowed: false, retryAfterMs: 9_001 }]);
    expect(readRefunds([], [])).toEqual([]);
  });

  it.each([
    ['nothing', null],
    ['a text', 'OK'],
    ['too few', ['2', 8_999, '0']],
    ['too many', ['2', 8_999, '0', 0, '0', 0]],
    ['texts', ['a', 'b', 'c', 'd']],
    ['fractions', [1.5, 1, 1, 1]],
  ])('refuse %s, since the script never answers so', (_, reply) => {
    expect(() => readRefunds(refunds, reply)).toThrow('Redis answered what the script never does');
  });
});

describe('Batch.opened', () => {
  const full = check('full', { limit: 1 });

  it('counts a counter that holds nothing but what was charged', () => {
    const { batch } = batchOf([a, b], [a]);
    batch.encode();
    batch.answer([0, 2, 60_000, 5, 60_000], same);
    expect(batch.opened).toBe(1);
  });

  it('counts no look, whatever it finds', () => {
    const { batch } = batchWith([{ checks: [a, b], charging: false }]);
    batch.encode();
    batch.answer([0, 0, 0, 1, 60_000], same);
    expect(batch.opened).toBe(0);
  });

  it('counts, where some request is denied, what the others have opened', () => {
    const { batch } = batchWith([
      { checks: [full, b], charging: true },
      { checks: [c], charging: true },
      { checks: [a], charging: false },
      { checks: [{ ...full, countDenied: true }, b], charging: true },
    ]);
    batch.encode();
    batch.answer([1, 1, -60_001, 0, 0, 1, 60_000, 1, 60_000, 2, -60_001, 0, 0], same);
    expect(batch.opened).toBe(1);
  });
});
