import { FreqLimitError } from '../../../src/core/errors.js';
import type { Verdict } from '../../../src/core/verdict.js';
import { toVerdict } from '../../../src/core/verdict.js';
import type { SettleableVerdict } from '../../../src/decisions/charge.js';
import type { FreqLimitCheck } from '../../../src/rules/service-check-types.js';
import { FreqLimitThrottlerStorage } from '../../../src/throttler/throttler-storage.js';
import { result } from '../fixtures.js';

const FAILED = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'gone');

/** A service that returns these verdicts in turn, and records its calls. */
function service(verdicts: (Verdict | Error)[], reset?: Error) {
  const calls: [method: string, names: unknown][] = [];
  const note = (method: string, checks: FreqLimitCheck | readonly FreqLimitCheck[]): void => {
    calls.push([method, [checks].flat().map((check) => check.name)]);
  };
  return {
    calls,
    consume: async (checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<SettleableVerdict> => {
      note('consume', checks);
      const verdict = verdicts.shift();
      if (verdict instanceof Error) throw verdict;
      return { ...verdict!, settle: () => Promise.resolve() };
    },
    reset: async (checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<void> => {
      note('reset', checks);
      if (reset !== undefined) throw reset;
    },
  };
}

const PASSED = toVerdict([result({ used: 3 }), result({ name: 'block', used: 0 })]);
const BLOCKED = toVerdict([result(), result({ allowed: false, retryAfterMs: 4_200 })]);
const TOO_MANY = toVerdict([result({ allowed: false, used: 10, retryAfterMs: 40_001 }), result({ used: 0 })]);
const OPENED = toVerdict([result({ used: 1, resetAfterMs: 5_000 })]);
const NOT_OPENED = toVerdict([result({ allowed: false, retryAfterMs: 4_900, resetAfterMs: 4_899 })]);

const DENIED = toVerdict([
  result({ allowed: false, used: 10, resetAfterMs: 89_999, retryAfterMs: 89_999, blocked: true }),
]);

const BOTH = ['throttler-short', 'throttler-block'];
const increment = (limits: ReturnType<typeof service>, block = 5_000): Promise<unknown> =>
  new FreqLimitThrottlerStorage(limits).increment('ann', 60_000, 10, block, 'default');

describe('a request of a throttler whose block is as long as its window, or longer, or does not exist', () => {
  it.each([0, 60_000, 90_000])('calls the store once: a block of %d ms', async (block) => {
    const limits = service([PASSED, DENIED, DENIED]);
    expect(await increment(limits, block)).toMatchObject({ totalHits: 3, isBlocked: false });
    for (let i = 0; i < 2; i++)
      expect(await increment(limits, block)).toEqual({
        totalHits: 11,
        timeToExpire: 90,
        isBlocked: true,
        timeToBlockExpire: 90,
      });
    expect(limits.calls).toEqual(Array(3).fill(['consume', ['throttler']]));
  });

  it('gets 503 if the store fails', async () => {
    const denied = { status: 503, cause: FAILED };
    await expect(increment(service([FAILED]), 60_000)).rejects.toMatchObject(denied);
  });
});

describe('a request of a throttler whose block is shorter than its window', () => {
  it('that passes calls the store once', async () => {
    const limits = service([PASSED]);
    const passed = { totalHits: 3, timeToExpire: 40, isBlocked: false, timeToBlockExpire: 0 };
    expect(await increment(limits)).toEqual(passed);
    expect(limits.calls).toEqual([['consume', BOTH]]);
  });

  it('that is blocked calls the store once', async () => {
    const limits = service([BLOCKED]);
    expect(await increment(limits)).toMatchObject({ totalHits: 11, isBlocked: true, timeToBlockExpire: 5 });
    expect(limits.calls).toEqual([['consume', BOTH]]);
  });

  it('that opens a block shorter than its window resets the window', async () => {
    const limits = service([TOO_MANY, OPENED]);
    expect(await increment(limits)).toMatchObject({ isBlocked: true, timeToBlockExpire: 5 });
    expect(limits.calls.slice(1)).toEqual([
      ['consume', ['throttler-block']],
      ['reset', ['throttler-short']],
    ]);
  });

  it('resets nothing if a concurrent request has opened the block', async () => {
    const limits = service([TOO_MANY, NOT_OPENED]);
    expect(await increment(limits)).toMatchObject({ isBlocked: true, timeToBlockExpire: 5 });
    expect(limits.calls).toHaveLength(2);
  });

  it('is denied until its window ends if no store could open the block', async () => {
    const open = toVerdict([result({ used: 0, resetAfterMs: 0, source: 'allow' })]);
    expect(await increment(service([TOO_MANY, open], FAILED))).toMatchObject({
      isBlocked: true,
      timeToBlockExpire: 41,
    });
  });

  it('is denied even if its window could not be reset', async () => {
    expect(await increment(service([TOO_MANY, OPENED], FAILED))).toMatchObject({ isBlocked: true });
  });

  it.each([1, 2])('gets 503 if the store fails at call %d', async (call) => {
    const verdicts = [TOO_MANY, OPENED].slice(0, call - 1);
    await expect(increment(service([...verdicts, FAILED]))).rejects.toMatchObject({
      status: 503,
      cause: FAILED,
    });
  });

  it('rejects with every other error', async () => {
    const other = new TypeError('other');
    await expect(increment(service([other]))).rejects.toBe(other);
    await expect(increment(service([TOO_MANY, OPENED], other))).rejects.toBe(other);
  });
});

describe('a storage without the service', () => {
  it.each([undefined, null, {}, class FreqLimitService {}])('is not made: %p', (limits) => {
    expect(() => new FreqLimitThrottlerStorage(limits as never)).toThrow(
      expect.objectContaining({
        code: 'FREQ_LIMIT_INVALID_OPTIONS',
        message: expect.stringMatching(
          /^FreqLimitThrottlerStorage: .+ is not a FreqLimitService; write inject: \[FreqLimitService\] next to useFactory, and pass its first parameter$/,
        ),
      }) as Error,
    );
  });
});

describe('the options of a storage', () => {
  it.each([
    [
      { algorithm: 'token-bucket' },
      "algorithm: \"token-bucket\" is not one of 'fixed-window', 'sliding-window'",
    ],
    [{ algoritm: 'sliding-window' }, 'algoritm: is not an option; did you mean algorithm?'],
    ['sliding-window', '"sliding-window" is not an object with the options algorithm'],
  ])('are rejected: %j', (options, problem) => {
    expect(() => new FreqLimitThrottlerStorage(service([]), options as never)).toThrow(
      expect.objectContaining({
        code: 'FREQ_LIMIT_INVALID_OPTIONS',
        message: expect.stringContaining(`FreqLimitThrottlerStorage: ${problem}`),
      }) as Error,
    );
  });
});
