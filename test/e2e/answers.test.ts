import {
  type ArgumentsHost,
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Header,
  HttpException,
  Logger,
  type MessageEvent,
  Options,
  Post,
  Sse,
  type Type,
  UseFilters,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { APP_FILTER } from '@nestjs/core';
import { Observable, of } from 'rxjs';
import { parseItem, parseList } from 'structured-headers';
import {
  DenialFilter,
  guessesOfAnAccount,
  inHisLanguage,
  inOurForm,
  oneImport,
} from '../../examples/http/answers.js';
import {
  FreqLimit,
  FreqLimitExceededException,
  type FreqLimitOptions,
  isFreqLimitExceeded,
} from '../../src/index.js';
import { type Platform, PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders, post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';
import { freePort } from '../support/server.js';

const suite = redisSuite();

let lines: string[];
beforeEach(() => {
  lines = [];
  const note = (message: unknown): void => void lines.push(String(message));
  jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
});

@Controller()
class Once {
  @Get()
  @FreqLimit({ window: '10s', limit: 1, name: 'one' })
  get() {
    return 'ok';
  }
}

/** The second answer of a handler that lets one visit pass. */
async function denialOf(
  platform: Platform,
  limits: FreqLimitOptions,
  { controllers = [Once], headers = {} }: { controllers?: Type[]; headers?: Record<string, string> } = {},
): Promise<{ response: Response; body: Record<string, unknown> }> {
  const { url } = await startApp(platform, { controllers, limits });
  await fetch(url);
  const response = await fetch(url, { headers });
  return { response, body: (await response.json()) as Record<string, unknown> };
}

const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

describe.each(PLATFORMS)('problem details on %s', (platform) => {
  const problem = { errorFormat: 'problem' } as const;

  it('tell of a denial', async () => {
    const { response, body } = await denialOf(platform, problem);
    expect(response.status).toBe(429);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json(; charset=utf-8)?$/);
    expect(body).toEqual({
      type: QUOTA_EXCEEDED,
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'Too many requests, try again in 10 s',
      'violated-policies': ['one'],
      retryAfter: 10,
    });
    expect(limitHeaders(response)).toEqual({
      'ratelimit-policy': '"one";q=1;w=10',
      ratelimit: '"one";a=0;w=10',
      'retry-after': '10',
    });
  });

  it('name all rules that deny, but for hidden ones and those that only report', async () => {
    const rule = { window: '1m', limit: 1 } as const;
    @Controller()
    class Several {
      @Get()
      @FreqLimit({ ...rule, name: 'first' })
      @FreqLimit({ ...rule, limit: 5, name: 'wide' })
      @FreqLimit({ ...rule, name: 'secret', hidden: true })
      @FreqLimit({ ...rule, name: 'tried', shadow: true })
      @FreqLimit({ ...rule, name: 'second' })
      get() {
        return 'ok';
      }
    }
    const { response, body } = await denialOf(platform, problem, { controllers: [Several] });
    expect(body['violated-policies']).toEqual(['first', 'second']);
    expect(limitHeaders(response)['ratelimit']).toBe('"first";a=0;w=60, "wide";a=4;w=60, "second";a=0;w=60');
  });

  it('tell of a visit that lacks its key', async () => {
    @Controller()
    class Keyed {
      @Post()
      @FreqLimit({ window: '1m', limit: 1, key: '{body.phone}', onMissingKey: 'deny' })
      post() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Keyed], limits: problem });
    const response = await post(url, {});
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'The request lacks what its limit counts by: body phone',
    });
    expect(limitHeaders(response)).toEqual({});
  });

  it('tell of a store that cannot answer', async () => {
    const redis = `redis://127.0.0.1:${await freePort()}`;
    const limits = { ...problem, redis, onStoreError: 'deny' } as const;
    const { url } = await startApp(platform, { controllers: [Once], limits });
    const response = await fetch(url);
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: 'The request limit cannot be checked at the moment',
    });
    expect(limitHeaders(response)).toEqual({ 'retry-after': '1' });
  });

  it('leave the errors and answers of the application as they are', async () => {
    @Controller()
    class Others {
      @Get('ok')
      @FreqLimit('1m', 9)
      ok() {
        return { ok: true };
      }
      @Get('own')
      @FreqLimit('1m', 9)
      own() {
        throw new HttpException({ type: 'mine', statusCode: 418 }, 418);
      }
    }
    const { url } = await startApp(platform, { controllers: [Others], limits: problem });
    for (const [path, status] of [
      ['ok', 200],
      ['own', 418],
    ] as const) {
      const response = await fetch(`${url}/${path}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        status,
        expect.stringMatching(/^application\/json/),
      ]);
    }
  });

  it('are JSON of their kind where the handler answers something else', async () => {
    @Controller()
    class Kinds {
      @Get()
      @Header('Content-Type', 'text/html')
      @FreqLimit('10s', 1)
      html() {
        return '<p>ok</p>';
      }
      @Sse('events')
      @FreqLimit('10s', 1)
      events(): Observable<MessageEvent> {
        return of({ data: 'one' });
      }
    }
    const { url } = await startApp(platform, { controllers: [Kinds], limits: problem });
    for (const path of ['', '/events']) {
      await (await fetch(`${url}${path}`)).text();
      const response = await fetch(`${url}${path}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        429,
        expect.stringMatching(/^application\/problem\+json/),
      ]);
      expect(await response.json()).toMatchObject({ status: 429 });
    }
  });
});

describe.each(PLATFORMS)('what a denied caller is told on %s', (platform) => {
  it.each([
    ['a text', 'Not so fast'],
    ['a function', () => 'Not so fast'],
    ['a function that waits', () => Promise.resolve('Not so fast')],
  ])('is the message of the module: %s', async (_, message) => {
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
      'The message function failed; the default is used instead: no words',
    ],
    [
      'rejects',
      () => Promise.reject(new Error('no words')),
      'The message function failed; the default is used instead: no words',
    ],
    [
      'answers what throws when it is looked at',
      () =>
        Object.defineProperty({}, 'then', {
          get: () => {
            throw new Error('no words');
          },
        }),
      'The message function failed; the default is used instead: no words',
    ],
    ['answers a number', () => 7, 'The message function returned 7; the default is used instead'],
    ['answers nothing', () => '', 'The message function returned ""; the default is used instead'],
  ])('is the default where the message function %s', async (_, message, line) => {
    const { response, body } = await denialOf(platform, { message: message as () => string });
    expect([response.status, body['message']]).toEqual([429, 'Too many requests, try again in 10 s']);
    expect(lines).toEqual([line]);
  });

  it('is in his language, by a function of the context', async () => {
    const german = await denialOf(platform, inHisLanguage, { headers: { 'accept-language': 'de-CH' } });
    expect(german.body['message']).toBe('Zu viele Anfragen, bitte in 10 s noch einmal');
    const english = await denialOf(platform, inHisLanguage);
    expect(english.body['message']).toBe('Too many requests, try again in 10 s');
  });

  it('is what the rule says that speaks for the verdict, and its status', async () => {
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
      message: 'An import runs already; the next one may begin in an hour',
      retryAfter: 3600,
    });
    expect(response.headers.get('retry-after')).toBe('3600');
  });

  it('has a phrase also where the status has none', async () => {
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
      { statusCode: 420, error: 'Error', message: 'Too many requests, try again in 10 s', retryAfter: 10 },
    ]);
  });

  it('is what the exceptionFactory makes, which is known as a denial', async () => {
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
      limits: inOurForm,
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
    ['an error that is not for HTTP', () => new Error('mine'), 500],
    ['an exception later', () => Promise.resolve(new HttpException('mine', 418)), 418],
    ['an error that cannot be written to', () => Object.freeze(new HttpException('mine', 418)), 418],
  ])('is %s, where the exceptionFactory makes it', async (_, exceptionFactory, status) => {
    const { response } = await denialOf(platform, { exceptionFactory });
    expect(response.status).toBe(status);
  });

  it.each([
    [
      'throws',
      () => Promise.reject(new Error('none')),
      'The exceptionFactory function failed; the default is used instead: none',
    ],
    [
      'answers no error',
      () => 'no',
      'The exceptionFactory function returned "no"; the default is used instead',
    ],
    [
      'answers nothing',
      () => undefined,
      'The exceptionFactory function returned undefined; the default is used instead',
    ],
  ])('is the default where the exceptionFactory %s', async (_, factory, line) => {
    const exceptionFactory = factory as unknown as () => Error;
    const { response, body } = await denialOf(platform, { exceptionFactory });
    expect([response.status, body['retryAfter']]).toEqual([429, 10]);
    expect(lines).toEqual([line]);
  });

  it('tells nothing of a hidden rule but that it denies', async () => {
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

  it('shows no key, neither his nor another’s', async () => {
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
      const told = JSON.stringify([...denied.headers]) + (await denied.text());
      expect(told).not.toMatch(/13800000000|127\.0\.0\.1|phone:|t-[0-9a-f]{8}/);
    }
    expect(lines.join('\n')).not.toMatch(/13800000000|127\.0\.0\.1|t-[0-9a-f]{8}/);
  });
});

describe.each(PLATFORMS)('headers of answers on %s', (platform) => {
  it('are Retry-After alone with retry-after', async () => {
    const { url } = await startApp(platform, { controllers: [Once], limits: { headers: 'retry-after' } });
    expect(limitHeaders(await fetch(url))).toEqual({});
    expect(limitHeaders(await fetch(url))).toEqual({ 'retry-after': '10' });
  });

  it('are structured fields to an independent parser, on denials too', async () => {
    const { response } = await denialOf(platform, {});
    const [policy, limit] = ['ratelimit-policy', 'ratelimit'].map((name) =>
      parseList(response.headers.get(name)!).map(([value, more]) => [value, Object.fromEntries(more)]),
    );
    expect([policy, limit]).toEqual([[['one', { q: 1, w: 10 }]], [['one', { a: 0, w: 10 }]]]);
    expect(parseItem(response.headers.get('retry-after')!)).toEqual([10, new Map()]);
  });

  it('can be read by scripts of another origin, on denials too', async () => {
    const exposedHeaders = ['RateLimit', 'RateLimit-Policy', 'Retry-After'];
    const { url } = await startApp(platform, { controllers: [Once] }, undefined, (app) =>
      app.enableCors({ exposedHeaders }),
    );
    const headers = { origin: 'https://example.org' };
    const preflight = { ...headers, 'access-control-request-method': 'GET' };
    const asked = await statuses(5, () => fetch(url, { method: 'OPTIONS', headers: preflight }));
    expect(asked).toEqual([204, 204, 204, 204, 204]);
    await fetch(url, { headers });
    const denied = await fetch(url, { headers });
    expect(denied.status).toBe(429);
    expect(denied.headers.get('access-control-allow-origin')).toBe('*');
    expect(denied.headers.get('access-control-expose-headers')?.split(/, ?/)).toEqual(exposedHeaders);
    expect(denied.headers.get('retry-after')).toBe('10');
  });

  it('tell of a HEAD, which counts with GET, and of an OPTIONS handler, which counts by itself', async () => {
    @Controller()
    class Methods {
      @Get()
      @FreqLimit({ window: '1m', limit: 2, name: 'get' })
      get() {
        return 'ok';
      }
      @Options()
      @FreqLimit({ window: '1m', limit: 1, name: 'options' })
      options() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Methods] });
    const asked = [];
    for (const method of ['HEAD', 'OPTIONS', 'GET', 'HEAD', 'OPTIONS']) {
      const response = await fetch(url, { method });
      asked.push([method, response.status, limitHeaders(response)['ratelimit']]);
    }
    expect(asked).toEqual([
      ['HEAD', 200, '"get";a=1;w=60'],
      ['OPTIONS', 200, '"options";a=0;w=60'],
      ['GET', 200, '"get";a=0;w=60'],
      ['HEAD', 429, '"get";a=0;w=60'],
      ['OPTIONS', 429, '"options";a=0;w=60'],
    ]);
  });
});

describe.each(PLATFORMS)('a filter of the application on %s', (platform) => {
  it('knows a denial, and what else is thrown', async () => {
    const warned = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { url } = await startApp(platform, {
      controllers: [Once],
      providers: [{ provide: APP_FILTER, useClass: DenialFilter }],
    });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/nowhere`))).toEqual([404]);
    expect(warned.mock.calls).toEqual([['denied by', 'one']]);
  });

  it('catches the exception by its class, on a handler too', async () => {
    @Catch(FreqLimitExceededException)
    class Quiet implements ExceptionFilter {
      catch(error: FreqLimitExceededException, host: ArgumentsHost) {
        const { name, retryAfterMs } = error.verdict.tightest!;
        const text = `${name} ${Math.ceil(retryAfterMs / 1_000)}`;
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
