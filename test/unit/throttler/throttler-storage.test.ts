import { FreqLimitError } from '../../../src/core/errors.js';
import type { Verdict } from '../../../src/core/verdict.js';
import { toVerdict } from '../../../src/core/verdict.js';
import type { FreqLimitCheck } from '../../../src/rules/service-check-types.js';
import { FreqLimitThrottlerStorage } from '../../../src/throttler/throttler-storage.js';
import { result } from '../fixtures.js';

const FAILED = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'gone');

/** A service that gives these answers in turn, and notes what it was asked. */
function service(answers: (Verdict | Error)[], reset?: Error) {
  const asked: [method: string, names: unknown][] = [];
  const note = (method: string, checks: FreqLimitCheck | readonly FreqLimitCheck[]): void => {
    asked.push([method, [checks].flat().map((check) => check.name)]);
  };
  return {
    asked,
    consume: async (checks: FreqLimitCheck | readonly FreqLimitCheck[]): Promise<Verdict> => {
      note('consume', checks);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer!;
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

const BOTH = ['throttler', 'throttler-block'];
const visit = (limits: ReturnType<typeof service>, block = 5_000): Promise<unknown> =>
  new FreqLimitThrottlerStorage(limits).increment('ann', 60_000, 10, block, 'default');

describe('a visit of the throttler', () => {
  it('that passes asks once', async () => {
    const limits = service([PASSED]);
    const passed = { totalHits: 3, timeToExpire: 40, isBlocked: false, timeToBlockExpire: 0 };
    expect(await visit(limits)).toEqual(passed);
    expect(limits.asked).toEqual([['consume', BOTH]]);
  });

  it('that is blocked asks once', async () => {
    const limits = service([BLOCKED]);
    expect(await visit(limits)).toMatchObject({ totalHits: 11, isBlocked: true, timeToBlockExpire: 5 });
    expect(limits.asked).toEqual([['consume', BOTH]]);
  });

  it('that opens a block shorter than its window forgets the window', async () => {
    const limits = service([TOO_MANY, OPENED]);
    expect(await visit(limits)).toMatchObject({ isBlocked: true, timeToBlockExpire: 5 });
    expect(limits.asked.slice(1)).toEqual([
      ['consume', ['throttler-block']],
      ['reset', ['throttler']],
    ]);
  });

  it('beside one that has opened the block forgets nothing', async () => {
    const limits = service([TOO_MANY, NOT_OPENED]);
    expect(await visit(limits)).toMatchObject({ isBlocked: true, timeToBlockExpire: 5 });
    expect(limits.asked).toHaveLength(2);
  });

  it.each([60_000, 90_000])(
    'that opens a block of %d ms leaves the window to end by itself',
    async (block) => {
      const limits = service([TOO_MANY, OPENED]);
      await visit(limits, block);
      expect(limits.asked).toHaveLength(2);
    },
  );

  it('is denied to the end of its window where nobody could open the block', async () => {
    const open = toVerdict([result({ used: 0, resetAfterMs: 0, source: 'allow' })]);
    expect(await visit(service([TOO_MANY, open], FAILED))).toMatchObject({
      isBlocked: true,
      timeToBlockExpire: 41,
    });
  });

  it('is denied even when its window could not be forgotten', async () => {
    expect(await visit(service([TOO_MANY, OPENED], FAILED))).toMatchObject({ isBlocked: true });
  });

  it.each([1, 2])('is answered 503 when the store fails at question %d', async (question) => {
    const answers = [TOO_MANY, OPENED].slice(0, question - 1);
    await expect(visit(service([...answers, FAILED]))).rejects.toMatchObject({ status: 503, cause: FAILED });
  });

  it('passes on every other error', async () => {
    const other = new TypeError('other');
    await expect(visit(service([other]))).rejects.toBe(other);
    await expect(visit(service([TOO_MANY, OPENED], other))).rejects.toBe(other);
  });
});
