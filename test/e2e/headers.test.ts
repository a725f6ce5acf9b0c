import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Head,
  Injectable,
  InternalServerErrorException,
  type MessageEvent,
  type NestMiddleware,
  NotFoundException,
  Options,
  Post,
  Redirect,
  Res,
  Sse,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { NEVER, type Observable, of } from 'rxjs';
import { parseItem, parseList } from 'structured-headers';
import { exposeLimitHeaders } from '../../examples/http/cors.js';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitOptions,
  isFreqLimitExceeded,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { denialOf, Once } from '../support/denials.js';
import { limitHeaders } from '../support/http.js';

@Controller()
@FreqLimit({ window: '1m', limit: 5, name: 'minute' })
@FreqLimit({ window: '1d', limit: 100, name: 'day' })
class Answers {
  @Get('ok')
  ok() {
    return 'ok';
  }
  @Post('ok')
  post() {
    return 'ok';
  }
  @Get('missing')
  missing() {
    throw new NotFoundException();
  }
  @Get('broken')
  broken() {
    throw new InternalServerErrorException();
  }
  @Get('raw')
  raw(@Res() response: { send(text: string): void }) {
    response.send('ok');
  }
  @Get('file')
  file() {
    return new StreamableFile(Buffer.from('ok'));
  }
  @Sse('events')
  events(): Observable<MessageEvent> {
    return of({ data: 'one' });
  }
  @Get('none')
  @SkipFreqLimit()
  none() {
    return 'ok';
  }
  @Head('head')
  head() {}
}

afterEach(closeApps);

describe.each(PLATFORMS)('headers on %s', (platform) => {
  const start = async (headers?: FreqLimitOptions['headers']): Promise<string> => {
    const limits = headers === undefined ? {} : { headers };
    return (await startApp(platform, { controllers: [Answers], limits })).url;
  };

  it.each(['ok', 'missing', 'broken', 'raw', 'file', 'events', 'head'])(
    'have the same bytes on a response of /%s',
    async (path) => {
      const url = await start();
      const response = await fetch(`${url}/${path}`, { method: path === 'head' ? 'HEAD' : 'GET' });
      expect(limitHeaders(response)).toEqual({
        'ratelimit-policy': '"minute";q=5;w=60, "day";q=100;w=86400',
        ratelimit: '"minute";a=4;w=60, "day";a=99;w=86400',
      });
    },
  );

  it('include Retry-After on a denial', async () => {
    const url = await start();
    await statuses(5, () => fetch(`${url}/ok`));
    for (const path of ['ok', 'events', 'file']) {
      const response = await fetch(`${url}/${path}`);
      expect(response.status).toBe(429);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      const { 'retry-after': wait, ratelimit } = limitHeaders(response);
      expect(['59', '60']).toContain(wait);
      expect(ratelimit).toMatch(/^"minute";a=0;w=(59|60), "day";a=95;w=(86400|86399)$/);
      expect(((await response.json()) as { retryAfter: number }).retryAfter).toBe(Number(wait));
    }
  });

  it('are structured fields to an independent parser, also on a denial', async () => {
    const items = (response: Response, name: string): unknown =>
      parseList(response.headers.get(name)!).map(([value, parameters]) => [
        value,
        Object.fromEntries(parameters),
      ]);
    const response = await fetch(`${await start()}/ok`);
    expect(items(response, 'ratelimit-policy')).toEqual([
      ['minute', { q: 5, w: 60 }],
      ['day', { q: 100, w: 86_400 }],
    ]);
    expect(items(response, 'ratelimit')).toEqual([
      ['minute', { a: 4, w: 60 }],
      ['day', { a: 99, w: 86_400 }],
    ]);
    const { response: denied } = await denialOf(platform, {});
    expect(items(denied, 'ratelimit-policy')).toEqual([['one', { q: 1, w: 10 }]]);
    expect(items(denied, 'ratelimit')).toEqual([['one', { a: 0, w: 10 }]]);
    expect(parseItem(denied.headers.get('retry-after')!)).toEqual([10, new Map()]);
  });

  it('are X-RateLimit of the tightest rule with legacy, also on denials', async () => {
    const url = await start('legacy');
    const seen = [];
    for (let i = 0; i < 6; i++) seen.push(limitHeaders(await fetch(`${url}/ok`)));
    expect(seen[0]).toEqual({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '4',
      'x-ratelimit-reset': '60',
    });
    expect(seen[5]).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0' });
    expect(seen[5]!['retry-after']).toBe(seen[5]!['x-ratelimit-reset']);
  });

  it.each([
    ['draft', ['ratelimit', 'ratelimit-policy']],
    ['draft-12', ['ratelimit', 'ratelimit-policy']],
    ['draft-11', ['ratelimit', 'ratelimit-policy']],
    ['retry-after', []],
    [
      'both',
      ['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
    ],
    ['none', []],
  ] as const)('are with %s: %j', async (headers, names) => {
    const url = await start(headers);
    expect(Object.keys(limitHeaders(await fetch(`${url}/ok`))).sort()).toEqual(names);
    await statuses(5, () => fetch(`${url}/ok`));
    const denied = Object.keys(limitHeaders(await fetch(`${url}/ok`))).sort();
    expect(denied).toEqual(headers === 'none' ? [] : [...names, 'retry-after'].sort());
  });

  it('are absent where no rule applies', async () => {
    expect(limitHeaders(await fetch(`${await start()}/none`))).toEqual({});
  });

  it('are left out of a redirection, but not of its denial', async () => {
    @Controller()
    class Moved {
      @Get('old')
      @Redirect('/new')
      @FreqLimit({ window: '1m', limit: 1, name: 'moves' })
      old() {}
    }
    const { url } = await startApp(platform, { controllers: [Moved] });
    const moved = await fetch(`${url}/old`, { redirect: 'manual' });
    expect([moved.status, limitHeaders(moved)]).toEqual([302, {}]);
    const denied = await fetch(`${url}/old`, { redirect: 'manual' });
    expect(denied.status).toBe(429);
    expect(limitHeaders(denied)['ratelimit']).toMatch(/^"moves";a=0;w=(59|60)$/);
    expect(['59', '60']).toContain(limitHeaders(denied)['retry-after']);
  });

  it('round windows below a second up, and never send 0 on a denial', async () => {
    @Controller()
    class Short {
      @Get()
      @FreqLimit({ window: '300ms', limit: 1, name: 'short' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Short] });
    expect(limitHeaders(await fetch(url))).toEqual({
      'ratelimit-policy': '"short";q=1;w=1',
      ratelimit: '"short";a=0;w=1',
    });
  });

  it('can be read by a browser on a denial, and preflights are not counted', async () => {
    const limits = { rules: [{ window: '1m', limit: 2, name: 'module' }] } as const;
    @Controller()
    class Cors {
      @Get()
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Cors], limits }, undefined, (app) =>
      app.enableCors(),
    );
    const origin = { origin: 'https://example.org' };
    const preflight = { ...origin, 'access-control-request-method': 'GET' };
    const codes = await statuses(5, () => fetch(url, { method: 'OPTIONS', headers: preflight }));
    expect(codes.every((code) => code < 300)).toBe(true);
    expect(await statuses(2, () => fetch(url, { headers: origin }))).toEqual([200, 200]);
    const denied = await fetch(url, { headers: origin });
    expect([denied.status, denied.headers.get('access-control-allow-origin')]).toEqual([429, '*']);
  });
});

// on Fastify a middleware that answers ends the request before the guards
describe('headers on Express', () => {
  it('do not disturb a response that has started', async () => {
    @Injectable()
    class Early implements NestMiddleware {
      use(_request: unknown, response: { write(text: string): void }, next: () => void): void {
        response.write('early ');
        next();
      }
    }
    const { url } = await startApp('express', { controllers: [Answers] }, undefined, (app) => {
      const early = new Early();
      app.use(early.use.bind(early));
    });
    const response = await fetch(`${url}/raw`).catch(() => undefined);
    expect(response?.status).toBe(200);
    expect(limitHeaders(response!)).toEqual({});
  });
});

describe.each(PLATFORMS)('headers of answers on %s', (platform) => {
  it('are only Retry-After with retry-after', async () => {
    const { url } = await startApp(platform, { controllers: [Once], limits: { headers: 'retry-after' } });
    expect(limitHeaders(await fetch(url))).toEqual({});
    expect(limitHeaders(await fetch(url))).toEqual({ 'retry-after': '10' });
  });

  it('can be read by scripts of another origin, also on denials', async () => {
    const exposedHeaders = ['RateLimit', 'RateLimit-Policy', 'Retry-After'];
    const { url } = await startApp(platform, { controllers: [Once] }, undefined, exposeLimitHeaders);
    const headers = { origin: 'https://example.org' };
    const preflight = { ...headers, 'access-control-request-method': 'GET' };
    const seen = await statuses(5, () => fetch(url, { method: 'OPTIONS', headers: preflight }));
    expect(seen).toEqual([204, 204, 204, 204, 204]);
    await fetch(url, { headers });
    const denied = await fetch(url, { headers });
    expect(denied.status).toBe(429);
    expect(denied.headers.get('access-control-allow-origin')).toBe('*');
    expect(denied.headers.get('access-control-expose-headers')?.split(/, ?/)).toEqual(exposedHeaders);
    expect(denied.headers.get('retry-after')).toBe('10');
  });

  it('show that HEAD counts with GET, and an OPTIONS handler separately', async () => {
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
    const seen = [];
    for (const method of ['HEAD', 'OPTIONS', 'GET', 'HEAD', 'OPTIONS']) {
      const response = await fetch(url, { method });
      seen.push([method, response.status, limitHeaders(response)['ratelimit']]);
    }
    expect(seen).toEqual([
      ['HEAD', 200, '"get";a=1;w=60'],
      ['OPTIONS', 200, '"options";a=0;w=60'],
      ['GET', 200, '"get";a=0;w=60'],
      ['HEAD', 429, '"get";a=0;w=60'],
      ['OPTIONS', 429, '"options";a=0;w=60'],
    ]);
  });
});

describe.each(PLATFORMS)('headers of a response without a result on %s', (platform) => {
  it('are sent on errors of a handler, and before the first event of a stream', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 4, name: 'minute' })
    class Endings {
      @Get('missing')
      missing() {
        throw new NotFoundException();
      }
      @Get('broken')
      broken() {
        throw new InternalServerErrorException();
      }
      @Get('plain')
      plain() {
        throw new Error('plain');
      }
      @Sse('events')
      events() {
        return NEVER;
      }
    }
    const { url } = await startApp(platform, { controllers: [Endings] });
    const seen = [];
    for (const path of ['missing', 'broken', 'plain', 'events', 'events']) {
      const asking = get(`${url}/${path}`);
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      seen.push([path, answer.statusCode, answer.headers['ratelimit'], answer.headers['retry-after']]);
      asking.destroy();
    }
    expect(seen).toEqual([
      ['missing', 404, '"minute";a=3;w=60', undefined],
      ['broken', 500, '"minute";a=2;w=60', undefined],
      ['plain', 500, '"minute";a=1;w=60', undefined],
      ['events', 200, '"minute";a=0;w=60', undefined],
      ['events', 429, '"minute";a=0;w=60', '60'],
    ]);
  });
});

describe.each(PLATFORMS)('a reply sent by an earlier guard on %s', (platform) => {
  it('is left as it is, whether the request is allowed or denied', async () => {
    const failures: unknown[] = [];
    @Injectable()
    class Replies implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        context.switchToHttp().getResponse<{ send(text: string): void }>().send('early');
        return true;
      }
    }
    class NotesFailures implements CanActivate {
      constructor(private readonly guard: FreqLimitGuard) {}
      async canActivate(context: ExecutionContext): Promise<boolean> {
        try {
          return await this.guard.canActivate(context);
        } catch (error) {
          failures.push(isFreqLimitExceeded(error) ? 'denied' : error);
          return false;
        }
      }
    }
    Injectable()(NotesFailures);
    Reflect.defineMetadata('design:paramtypes', [FreqLimitGuard], NotesFailures);
    @Controller()
    @UseGuards(Replies, NotesFailures)
    class Early {
      @Get()
      @FreqLimit('1m', 1)
      get(): void {
        // the response has started
      }
    }
    const { url } = await serve(platform, {
      imports: [FreqLimitModule.forRoot({ globalGuard: false })],
      controllers: [Early],
      providers: [FreqLimitGuard],
    });
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(url);
      expect([answer.status, await answer.text(), limitHeaders(answer)]).toEqual([200, 'early', {}]);
    }
    expect(failures).toEqual(['denied', 'denied']);
  });
});
