import { Controller, Get, Header, HttpException, type MessageEvent, Post, Sse } from '@nestjs/common';
import { Observable, of } from 'rxjs';
import { FreqLimit } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { denialOf, Once } from '../support/denials.js';
import { limitHeaders, post } from '../support/http.js';
import { freePort } from '../support/server.js';

afterEach(closeApps);

const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

describe.each(PLATFORMS)('problem details on %s', (platform) => {
  const problem = { errorFormat: 'problem' } as const;

  it('describe a denial', async () => {
    const { response, body } = await denialOf(platform, problem);
    expect(response.status).toBe(429);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json(; charset=utf-8)?$/);
    expect(body).toEqual({
      type: QUOTA_EXCEEDED,
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'Too many requests. Try again in 10 seconds.',
      'violated-policies': ['one'],
      retryAfter: 10,
    });
    expect(limitHeaders(response)).toEqual({
      'ratelimit-policy': '"one";q=1;w=10',
      ratelimit: '"one";a=0;w=10',
      'retry-after': '10',
    });
  });

  it('name all rules that deny, except for hidden rules and shadow rules', async () => {
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

  it('describe a request without its key', async () => {
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
      detail: 'Missing required value: body.phone',
    });
    expect(limitHeaders(response)).toEqual({});
  });

  it('describe a store that cannot answer', async () => {
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
      detail: 'The request limit cannot be checked right now. Try again later.',
    });
    expect(limitHeaders(response)).toEqual({ 'retry-after': '1' });
  });

  it('do not change errors and answers of the application', async () => {
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

  it('have their own content type if the handler answers another', async () => {
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
