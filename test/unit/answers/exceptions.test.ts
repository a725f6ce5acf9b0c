import { ForbiddenException, type HttpException } from '@nestjs/common';
import type { AnswerOptions } from '../../../src/answers/answer-options.js';
import { Exceptions } from '../../../src/answers/exceptions.js';
import {
  FreqLimitExceededException,
  isFreqLimitExceeded,
} from '../../../src/answers/freq-limit.exception.js';
import type { Header } from '../../../src/answers/headers.js';
import type { ResponseHeaders } from '../../../src/answers/response-headers.js';
import type { ResolvedAdapter } from '../../../src/contexts/adapters.js';
import { contextKindOfType } from '../../../src/contexts/context-kind.js';
import { FreqLimitError } from '../../../src/core/errors.js';
import { toVerdict } from '../../../src/core/verdict.js';
import { RuleError } from '../../../src/rules/evaluate.js';
import type { MissingKey, PlannedCheck } from '../../../src/rules/to-checks.js';
import { check } from '../../support/check.js';
import { captureLog } from '../../support/log.js';
import { CONTEXT, result } from '../fixtures.js';

const OPTIONS: AnswerOptions = {
  headers: 'draft',
  partitionKeys: false,
  errorFormat: 'nest',
  message: undefined,
  exceptionFactory: undefined,
};
const VERDICT = toVerdict([
  result({ name: 'wide' }),
  result({ name: 'narrow', allowed: false, remaining: 0, retryAfterMs: 7_600 }),
  result({ name: 'secret', allowed: false, remaining: 0, retryAfterMs: 5 }),
]);
const HTTP: ResolvedAdapter = { ...contextKindOfType('http'), type: 'http' };

const log = captureLog();
let headers: Header[];
beforeEach(() => {
  headers = [];
});

function exceptions(options: Partial<AnswerOptions> = {}): Exceptions {
  const responseHeaders = { set: (given: readonly Header[]) => headers.push(...given) };
  return new Exceptions({ ...OPTIONS, ...options }, responseHeaders as unknown as ResponseHeaders);
}

function checks(narrow: object = {}): PlannedCheck[] {
  const rules = [{ name: 'wide' }, { name: 'narrow', ...narrow }, { name: 'secret', hidden: true }];
  return rules.map((rule) => ({ ...check(rule.name), rule })) as unknown as PlannedCheck[];
}

async function denied(options: Partial<AnswerOptions> = {}, narrow = {}, adapter = HTTP): Promise<Error> {
  return exceptions(options).ofDenied(VERDICT, checks(narrow), CONTEXT, adapter);
}

const bodyOf = (error: Error): unknown => (error as HttpException).getResponse();

describe('a denied request', () => {
  it('gets 429 with the wait', async () => {
    const error = await denied();
    expect(error).toBeInstanceOf(FreqLimitExceededException);
    expect(bodyOf(error)).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Too many requests. Try again in 8 seconds.',
      retryAfter: 8,
    });
    expect(error).toMatchObject({ verdict: VERDICT, message: 'Too many requests. Try again in 8 seconds.' });
  });

  it('gets the status and the message of the tightest rule', async () => {
    const error = await denied({ message: 'of the module' }, { statusCode: 403, message: 'of the rule' });
    expect(bodyOf(error)).toMatchObject({ statusCode: 403, message: 'of the rule' });
  });

  it('gets problem details with the names of the rules that deny, without hidden rules', async () => {
    const error = await denied({ errorFormat: 'problem' });
    expect(bodyOf(error)).toMatchObject({ status: 429, 'violated-policies': ['narrow'] });
    expect(headers).toEqual([['Content-Type', 'application/problem+json']]);
  });

  it.each([
    ['sync', () => 'Mañana'],
    ['async', async () => 'Mañana'],
  ])('gets the message of a function that is %s', async (_, message) => {
    expect(bodyOf(await denied({ message }))).toMatchObject({ message: 'Mañana', retryAfter: 8 });
    expect(log.lines).toEqual([]);
  });

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no\nlanguage');
      },
      'The message function failed; the default is used instead: no\\nlanguage',
    ],
    [
      'rejects',
      () => Promise.reject(new Error('late')),
      'The message function failed; the default is used instead: late',
    ],
    [
      'returns no string',
      () => ({ phone: '1' }),
      'The message function returned [object]; the default is used instead',
    ],
    ['returns nothing', () => '', 'The message function returned ""; the default is used instead'],
  ])('gets the default message if the function %s', async (_, message, line) => {
    const error = await denied({ message: message as () => string });
    expect(bodyOf(error)).toMatchObject({ message: 'Too many requests. Try again in 8 seconds.' });
    expect(log.errors).toEqual([`FREQ_LIMIT_DENIAL_FUNCTION_FAILED: ${line}`]);
  });

  it('gets the exception of the factory, marked with the verdict', async () => {
    const own = new ForbiddenException('mine');
    expect(await denied({ exceptionFactory: async () => own })).toBe(own);
    expect(isFreqLimitExceeded(own) && own.verdict).toBe(VERDICT);
  });

  it('gets the default exception if the factory fails', async () => {
    const error = await denied({ exceptionFactory: () => 'text' as unknown as Error });
    expect(error).toBeInstanceOf(FreqLimitExceededException);
    expect(log.errors).toEqual([
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The exceptionFactory function returned "text"; the default is used instead',
    ]);
  });

  it('gets the error of its transport, marked with the verdict', async () => {
    const error = await denied({}, {}, { ...HTTP, toError: async ({ message }) => new TypeError(message) });
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe('Too many requests. Try again in 8 seconds.');
    expect(isFreqLimitExceeded(error) && error.verdict).toBe(VERDICT);
  });

  const FAILED =
    'FREQ_LIMIT_ADAPTER_FAILED: contextAdapters.http.toError failed; the HTTP exception is thrown instead: no package';
  const returned = (text: string): string =>
    `FREQ_LIMIT_ADAPTER_FAILED: contextAdapters.http.toError returned ${text}; the HTTP exception is thrown instead`;
  const fail = (): never => {
    throw new Error('no package');
  };
  it.each<[string, () => unknown, string]>([
    ['throws', fail, FAILED],
    ['rejects', async () => fail(), FAILED],
    ['returns a promise that cannot be read', () => Object.defineProperty({}, 'then', { get: fail }), FAILED],
    ['returns nothing', () => undefined, returned('undefined')],
    ['returns null', () => null, returned('null')],
    ['resolves to nothing', async () => undefined, returned('undefined')],
    ['resolves to null', async () => null, returned('null')],
  ])('gets the HTTP exception if the adapter %s', async (_, toError, line) => {
    const error = await denied({}, {}, { ...HTTP, toError: toError as ResolvedAdapter['toError'] & object });
    expect(error).toBeInstanceOf(FreqLimitExceededException);
    expect(isFreqLimitExceeded(error) && error.verdict).toBe(VERDICT);
    expect(log.errors).toEqual([line]);
  });

  it.each([['slow down'], [''], [0], [false], [Object.freeze({})], [Symbol('denied')]])(
    'gets what the adapter returns, also if it is not an error: %p',
    async (value) => {
      const made = value as unknown as Error;
      expect(await denied({}, {}, { ...HTTP, toError: () => made })).toBe(made);
      expect(await denied({}, {}, { ...HTTP, toError: async () => made })).toBe(made);
      expect(log.lines).toEqual([]);
    },
  );
});

describe('a request without its key', () => {
  const missing = (paths: string[], isTooLong?: true): MissingKey =>
    ({ rule: { key: { paths } }, ...(isTooLong && { isTooLong }) }) as unknown as MissingKey;

  it.each([
    [missing(['body.phone']), 'Missing required value: body.phone'],
    [missing(['body.phone', 'headers.x-id']), 'Missing required value: body.phone, headers.x-id'],
    [missing([]), 'Missing required value'],
    [missing(['body.phone'], true), 'Value too long: body.phone'],
    [missing([], true), 'Value too long'],
  ])('gets 400: %#', async (missingKey, message) => {
    const error = await exceptions().ofMissingKey(missingKey, CONTEXT, HTTP);
    expect(bodyOf(error)).toEqual({ statusCode: 400, error: 'Bad Request', message });
    expect(error.message).toBe(message);
    expect(isFreqLimitExceeded(error)).toBe(false);
  });

  it('gets problem details, and the error of its transport', async () => {
    const toError = (exception: HttpException): Error =>
      new TypeError(JSON.stringify(exception.getResponse()));
    const error = await exceptions({ errorFormat: 'problem' }).ofMissingKey(missing(['body.a']), CONTEXT, {
      ...HTTP,
      toError,
    });
    expect(JSON.parse(error.message)).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'Missing required value: body.a',
    });
  });
});

describe('a request that cannot be decided', () => {
  const failed = async (error: unknown, options: Partial<AnswerOptions> = {}): Promise<Error> =>
    exceptions(options).ofFailed(error, CONTEXT, HTTP);
  const STORE_FAILED = new FreqLimitError('FREQ_LIMIT_STORE_FAILED', 'redis.internal is gone');

  it('gets 503 if the store fails, without a line of its own in the log', async () => {
    const error = await failed(STORE_FAILED);
    expect(bodyOf(error)).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'The request limit cannot be checked right now. Try again later.',
    });
    expect(error.cause).toBe(STORE_FAILED);
    expect(headers).toEqual([['Retry-After', '1']]);
    expect(log.lines).toEqual([]);
  });

  it("gets no header with headers: 'none'", async () => {
    await failed(STORE_FAILED, { headers: 'none' });
    expect(headers).toEqual([]);
  });

  it('gets 500 if a rule fails, and the log says which and where', async () => {
    const cause = new Error('no tenant');
    const error = await failed(
      new RuleError('@FreqLimit on A.b, rule "n"', 'the key function failed', cause),
    );
    expect(bodyOf(error)).toMatchObject({ statusCode: 500, message: 'Internal Server Error' });
    expect(log.errors).toEqual([
      'FREQ_LIMIT_RULE_FAILED: The request got 500: @FreqLimit on A.b, rule "n": the key function failed',
    ]);
    expect(log.stacks).toEqual([expect.stringMatching(/^ {4}at /)]);
  });

  it('gets 500 for any other error, at most one line a second for each class of errors', async () => {
    const all = exceptions();
    for (const error of [new TypeError('a\nb'), new TypeError('again'), new RangeError('c'), undefined])
      expect(bodyOf(await all.ofFailed(error, CONTEXT, HTTP))).toMatchObject({ statusCode: 500 });
    expect(log.errors).toEqual([
      'FREQ_LIMIT_GUARD_FAILED: The request got 500: a\\nb',
      'FREQ_LIMIT_GUARD_FAILED: The request got 500: c',
      'FREQ_LIMIT_GUARD_FAILED: The request got 500: undefined',
    ]);
  });

  it('gets an HTTP exception as it is', async () => {
    const own = new ForbiddenException();
    expect(await failed(own)).toBe(own);
    expect(log.lines).toEqual([]);
  });
});
