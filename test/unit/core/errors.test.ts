import { inspect } from 'node:util';
import {
  FreqLimitError,
  formatError,
  formatForLog,
  invalidCheck,
  invalidOptions,
  invalidRule,
  isFreqLimitError,
} from '../../../src/core/errors.js';

describe('formatForLog', () => {
  it.each([
    ['text', '"text"'],
    ['13800\n000', '"13800\\n000"'],
    ['a\r\nb', '"a\\r\\nb"'],
    ['\u001b[31mred', '"\\u001b[31mred"'],
    ['\ud800', '"\\ud800"'],
    [5, '5'],
    [NaN, 'NaN'],
    [-0, '0'],
    [10n, '10n'],
    [true, 'true'],
    [null, 'null'],
    [undefined, 'undefined'],
    [[1, 2, 3], '[list of 3]'],
    [{ password: 'secret' }, '[object]'],
    [Object.create(null), '[object]'],
    [Symbol('s'), 'Symbol(s)'],
    [function limitOf() {}, '[function limitOf]'],
    [
      (
        () => () =>
          undefined
      )(),
      '[function anonymous]',
    ],
  ])('shows %p as %s', (value, text) => {
    expect(formatForLog(value)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['a line separator', '\u2028'],
    ['a paragraph separator', '\u2029'],
    ['a next-line control', '\u0085'],
    ['a symbol whose description has a line break', Symbol('a\nb')],
    ['a function whose name has a line break', { ['a\nb']: () => undefined }['a\nb']],
  ])('stays on one line with %s', (_, value) => {
    expect(formatForLog(value)).not.toMatch(/[\n\r\u0085\u2028\u2029]/);
  });

  it('cuts at 128 characters', () => {
    expect(formatForLog('x'.repeat(126))).toBe(`"${'x'.repeat(126)}"`);
    expect(formatForLog('x'.repeat(10_000))).toMatch(/^"x{127,128}…"?$/);
  });
});

describe('formatError', () => {
  it.each([
    [new Error('no luck'), 'no luck'],
    [new Error('two\nlines'), 'two\\nlines'],
    ['a string', '"a string"'],
    [undefined, 'undefined'],
    [{ message: 'like an error' }, 'like an error'],
    [{ message: '', code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  ])('shows %p as %j', (error, text) => {
    expect(formatError(error)).toBe(text);
  });

  it('cuts a long message, without quotes', () => {
    expect(formatError(new Error('x'.repeat(500)))).toMatch(/^x{100,128}…$/);
  });
});

describe('FreqLimitError', () => {
  it('has a code, a message, a cause and a name', () => {
    const cause = new Error('why');
    const error = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'what', { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'FreqLimitError',
      code: 'FREQ_LIMIT_STORE_FAILED',
      message: 'what',
      cause,
    });
  });

  it.each([
    [invalidOptions, 'FREQ_LIMIT_INVALID_OPTIONS'],
    [invalidRule, 'FREQ_LIMIT_INVALID_RULE'],
    [invalidCheck, 'FREQ_LIMIT_INVALID_CHECK'],
  ])('%p has the code %s', (make, code) => {
    const cause = new Error('why');
    expect(make('wrong', cause)).toMatchObject({ name: 'FreqLimitError', code, message: 'wrong', cause });
  });

  it('has its message as its only problem, unless it has several', () => {
    expect(new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'what').problems).toEqual(['what']);
    const problems = ['one', 'two'];
    expect(new FreqLimitError('FREQ_LIMIT_INVALID_RULE', 'both', { problems }).problems).toBe(problems);
  });

  it('is printed with its message and its code, and nothing else', () => {
    const error = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'what', { problems: ['one', 'two'] });
    error.stack = 'FreqLimitError: what\n    at app.js:1:2';
    expect(inspect(error)).toBe(
      "FreqLimitError: what\n    at app.js:1:2 {\n  code: 'FREQ_LIMIT_STORE_FAILED'\n}",
    );
  });

  it.each([
    [new FreqLimitError('FREQ_LIMIT_INVALID_RULE', 'x'), true],
    [{ [Symbol.for('nestjs-freq-limit:error')]: true }, true],
    [new Error('x'), false],
    [{ code: 'FREQ_LIMIT_INVALID_RULE' }, false],
    [null, false],
    [undefined, false],
    ['FreqLimitError', false],
  ])('are recognized by their brand: %p → %p', (error, known) => {
    expect(isFreqLimitError(error)).toBe(known);
  });
});
