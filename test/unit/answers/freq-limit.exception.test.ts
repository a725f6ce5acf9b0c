import { HttpException } from '@nestjs/common';
import { inspect } from 'node:util';
import { toVerdict } from '../../../src/core/verdict.js';
import {
  FreqLimitExceededException,
  isFreqLimitExceeded,
  markExceeded,
} from '../../../src/answers/freq-limit.exception.js';
import { result } from '../fixtures.js';

const VERDICT = toVerdict([
  result(),
  result({ name: 'secret-key', allowed: false, remaining: 0, retryAfterMs: 7_600 }),
]);

describe('FreqLimitExceededException', () => {
  it('is a 429 whose body has the wait in whole seconds', () => {
    const exception = new FreqLimitExceededException(VERDICT);
    expect(exception).toBeInstanceOf(HttpException);
    expect(exception.getStatus()).toBe(429);
    expect(exception.message).toBe('Too many requests. Try again in 8 seconds.');
    expect(exception.getResponse()).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Too many requests. Try again in 8 seconds.',
      retryAfter: 8,
    });
  });

  it('has the verdict, which is not part of the body', () => {
    const exception = new FreqLimitExceededException(VERDICT);
    expect(exception.verdict).toBe(VERDICT);
    expect(JSON.stringify(exception.getResponse())).not.toContain('secret-key');
  });

  it('is printed without its mark, also an error of another transport', () => {
    expect(inspect(new FreqLimitExceededException(VERDICT))).not.toContain('Symbol');
    const marked = markExceeded(new Error('denied'), VERDICT);
    expect(inspect(marked)).not.toContain('Symbol');
    const other = toVerdict([result()]);
    const again = markExceeded(marked, other);
    expect([marked, again].map(isFreqLimitExceeded)).toEqual([true, true]);
    expect([marked, again]).toMatchObject([{ verdict: VERDICT }, { verdict: other }]);
  });
});

describe('isFreqLimitExceeded', () => {
  it.each<[string, unknown, boolean]>([
    ['a denial', new FreqLimitExceededException(VERDICT), true],
    ['a denial of another copy of the package', { [Symbol.for('nestjs-freq-limit:exceeded')]: true }, true],
    ['another 429', new HttpException('Too many', 429), false],
    ['an error', new Error('FreqLimitExceededException'), false],
    ['null', null, false],
    ['undefined', undefined, false],
    ['a string', 'FreqLimitExceededException', false],
  ])('of %s', (_, error, answer) => {
    expect(isFreqLimitExceeded(error)).toBe(answer);
  });
});
