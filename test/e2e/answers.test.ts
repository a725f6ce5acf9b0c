import {
  type ArgumentsHost,
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Post,
  UseFilters,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { APP_FILTER } from '@nestjs/core';
import {
  DenialFilter,
  guessesOfAnAccount,
  inClientLanguage,
  inOurFormat,
  oneImport,
} from '../../examples/http/answers.js';
import {
  FreqLimit,
  FreqLimitExceededException,
  type FreqLimitOptions,
  isFreqLimitExceeded,
} from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { denialOf, Once } from '../support/denials.js';
import { limitHeaders, post } from '../support/http.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';

const suite = redisSuite();

const { lines } = captureLog();

describe.each(PLATFORMS)('the body of a denial on %s', (platform) => {
  it.each([
    ['a string', 'Not so fast'],
    ['a function', () => 'Not so fast'],
    ['an async function', () => Promise.resolve('Not so fast')],
  ])('has the message of the module: %s', async (_, message) => {
    const { response, body } = await denialOf(platform, { message });
    expect(response.status).toBe(429);
    expect(body).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Not so fast',
      retryAfter: 10,
    });
  });

  it.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no words');
      },
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The message function failed; the default is used instead: no words',
    ],
    [
      'rejects',
      () => Promise.reject(new Error('no words')),
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The message function failed; the default is used instead: no words',
    ],
    [
      'answers what throws when it is looked at',
      () =>
        Object.defineProperty({}, 'then', {
          get: () => {
            throw new Error('no words');
          },
        }),
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The message function failed; the default is used instead: no words',
    ],
    [
      'returns a number',
      () => 7,
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The message function returned 7; the default is used instead',
    ],
    [
      'returns an empty string',
      () => '',
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The message function returned ""; the default is used instead',
    ],
  ])('has the default message if the message function %s', async (_, message, line) => {
    const { response, body } = await denialOf(platform, { message: message as () => string });
    expect([response.status, body['message']]).toEqual([429, 'Too many requests. Try again in 10 seconds.']);
    expect(lines).toEqual([line]);
  });

  it('can be in the client’s language, by a function of the context', async () => {
    const german = await denialOf(platform, inClientLanguage, { headers: { 'accept-language': 'de-CH' } });
    expect(german.body['message']).toBe('Zu viele Anfragen. Bitte in 1 Minute noch einmal versuchen.');
    const english = await denialOf(platform, inClientLanguage);
    expect(english.body['message']).toBe('Too many requests. Try again in 1 minute.');
  });

  it('has the message and the status of the tightest rule', async () => {
    @Controller()
    class Imports {
      @Get()
      @FreqLimit({ window: '1m', limit: 1, name: 'minute', message: 'within a minute', statusCode: 420 })
      @FreqLimit(oneImport)
      get() {
        return 'ok';
      }
    }
    const limits = { message: 'of the module' };
    const { response, body } = await denialOf(platform, limits, { controllers: [Imports] });
    expect(response.status).toBe(503);
    expect(body).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'An import is already running. You can start the next one in an hour.',
      retryAfter: 3600,
    });
    expect(response.headers.get('retry-after')).toBe('3600');
  });

  it('names an error even if its status has no standard phrase', async () => {
    @Controller()
    class Calm {
      @Get()
      @FreqLimit({ window: '10s', limit: 1, statusCode: 420 })
      get() {
        return 'ok';
      }
    }
    const { response, body } = await denialOf(platform, {}, { controllers: [Calm] });
    expect([response.status, body]).toEqual([
      420,
      {
        statusCode: 420,
        error: 'Error',
        message: 'Too many requests. Try again in 10 seconds.',
        retryAfter: 10,
      },
    ]);
  });

  it('comes from the exceptionFactory, whose exception is still recognized as a denial', async () => {
    const seen: unknown[] = [];
    @Catch(HttpException)
    class Notes implements ExceptionFilter {
      catch(error: HttpException, host: ArgumentsHost) {
        seen.push(isFreqLimitExceeded(error) && error.verdict.tightest?.name);
        host.switchToHttp().getResponse().status(error.getStatus()).send(error.getResponse());
      }
    }
    const { url } = await startApp(platform, {
      controllers: [Once],
      limits: inOurFormat,
      providers: [{ provide: APP_FILTER, useClass: Notes }],
    });
    await fetch(url);
    const response = await fetch(url);
    expect([response.status, await response.json()]).toEqual([
      429,
      { error: { code: 'slow_down', rule: 'one' } },
    ]);
    expect([seen, response.headers.get('retry-after')]).toEqual([['one'], '10']);
  });

  it.each<[string, FreqLimitOptions['exceptionFactory'], number]>([
    ['the error of an exceptionFactory that is not an HttpException', () => new Error('mine'), 500],
    [
      'the exception of an async exceptionFactory',
      () => Promise.resolve(new HttpException('mine', 418)),
      418,
    ],
    [
      'the exception of an exceptionFactory that freezes it',
      () => Object.freeze(new HttpException('mine', 418)),
      418,
    ],
  ])('comes from %s', async (_, exceptionFactory, status) => {
    const { response } = await denialOf(platform, { exceptionFactory });
    expect(response.status).toBe(status);
  });

  it.each([
    [
      'throws',
      () => Promise.reject(new Error('none')),
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The exceptionFactory function failed; the default is used instead: none',
    ],
    [
      'returns a string',
      () => 'no',
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The exceptionFactory function returned "no"; the default is used instead',
    ],
    [
      'returns undefined',
      () => undefined,
      'FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The exceptionFactory function returned undefined; the default is used instead',
    ],
  ])('is the default if the exceptionFactory %s', async (_, factory, line) => {
    const exceptionFactory = factory as unknown as () => Error;
    const { response, body } = await denialOf(platform, { exceptionFactory });
    expect([response.status, body['retryAfter']]).toEqual([429, 10]);
    expect(lines).toEqual([line]);
  });

  it('does not name a hidden rule', async () => {
    @Controller()
    class Login {
      @Post()
      @FreqLimit({ window: '1m', limit: 100, name: 'address' })
      @FreqLimit({ ...guessesOfAnAccount, limit: 1 })
      login(@Body() body: unknown) {
        return body;
      }
    }
    const rest = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '99', 'x-ratelimit-reset': '60' };
    const draft = { 'ratelimit-policy': '"address";q=100;w=60', ratelimit: '"address";a=99;w=60' };
    for (const [headers, shown] of [
      ['draft', draft],
      ['legacy', rest],
      ['both', { ...draft, ...rest }],
    ] as const) {
      const limits = { headers, errorFormat: 'problem' } as const;
      const { url } = await startApp(platform, { controllers: [Login], limits });
      expect(limitHeaders(await post(url, { user: 'ann@example.org' }))).toEqual(shown);
      const denied = await post(url, { user: 'ann@example.org' });
      expect(denied.status).toBe(429);
      expect(limitHeaders(denied)).toEqual({ ...shown, 'retry-after': '900' });
      expect(await denied.text()).not.toMatch(/account|ann@/);
    }
  });

  it('shows no key', async () => {
    @Controller()
    class Phones {
      @Post()
      @FreqLimit({ window: '1m', limit: 1, key: 'phone:{body.phone}', name: 'phone' })
      post() {
        return 'ok';
      }
    }
    const redis = { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 };
    for (const errorFormat of ['nest', 'problem'] as const) {
      const limits = { ...redis, namespace: `${suite.namespace}:${errorFormat}`, errorFormat };
      const { url } = await startApp(platform, { controllers: [Phones], limits });
      await post(url, { phone: '13800000000' });
      const denied = await post(url, { phone: '13800000000' });
      expect(denied.status).toBe(429);
      const answer = JSON.stringify([...denied.headers]) + (await denied.text());
      expect(answer).not.toMatch(/13800000000|127\.0\.0\.1|phone:|t-[0-9a-f]{8}/);
    }
    expect(lines.join('\n')).not.toMatch(/13800000000|127\.0\.0\.1|t-[0-9a-f]{8}/);
  });
});

describe.each(PLATFORMS)('a filter of the application on %s', (platform) => {
  it('tells denials from other exceptions', async () => {
    const warned = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { url } = await startApp(platform, {
      controllers: [Once],
      providers: [{ provide: APP_FILTER, useClass: DenialFilter }],
    });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/nowhere`))).toEqual([404]);
    expect(warned.mock.calls).toEqual([['denied by', 'one']]);
  });

  it('catches the exception by its class, also on a handler', async () => {
    @Catch(FreqLimitExceededException)
    class Quiet implements ExceptionFilter {
      catch(error: FreqLimitExceededException, host: ArgumentsHost) {
        const { name, retryAfterMs } = error.verdict.tightest!;
        const text = `${name} ${Math.round(retryAfterMs / 1_000)}`;
        host.switchToHttp().getResponse().status(202).send(text);
      }
    }
    @Controller()
    class Filtered {
      @Get()
      @UseFilters(Quiet)
      @FreqLimit({ window: '10s', limit: 1, name: 'mine' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Filtered] });
    await fetch(url);
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([202, 'mine 10']);
    expect(limitHeaders(response)['retry-after']).toBe('10');
  });
});
