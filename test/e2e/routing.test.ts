import {
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  type MessageEvent,
  Module,
  Scope,
  Sse,
  type Type,
  Version,
  VersioningType,
} from '@nestjs/common';
import { REQUEST, RouterModule } from '@nestjs/core';
import { request } from 'node:http';
import { from, type Observable } from 'rxjs';
import { FreqLimit, type FreqLimitOptions, type FreqLimitRule, FreqLimitService } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const one: FreqLimitRule = { window: '1m', limit: 1, name: 'one' };

@Controller('cats')
class Cats {
  @Get()
  @Version('1')
  @FreqLimit(one)
  first() {
    return 'first';
  }
  @Get()
  @Version('2')
  @FreqLimit(one)
  second() {
    return 'second';
  }
}

/** Another controller with the same route and name. */
const OtherCats = (() => {
  @Controller({ path: 'cats', version: '3' })
  class Cats {
    @Get()
    @FreqLimit(one)
    first() {
      return 'third';
    }
  }
  return Cats;
})();

@Module({ controllers: [OtherCats] })
class OtherCatsModule {}

describe.each(PLATFORMS)('versions of a route on %s', (platform) => {
  const ways: [
    string,
    (app: INestApplication) => void,
    (url: string, version: string) => Promise<Response>,
  ][] = [
    ['uri', (app) => app.enableVersioning(), (url, version) => fetch(`${url}/v${version}/cats`)],
    [
      'header',
      (app) => app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' }),
      (url, version) => fetch(`${url}/cats`, { headers: { 'x-version': version } }),
    ],
    [
      'media type',
      (app) => app.enableVersioning({ type: VersioningType.MEDIA_TYPE, key: 'v=' }),
      (url, version) => fetch(`${url}/cats`, { headers: { accept: `application/json;v=${version}` } }),
    ],
    [
      'custom',
      (app) => {
        const extractor = (request: unknown): string =>
          (request as { headers: Record<string, string> }).headers['x-mine'] ?? '';
        app.enableVersioning({ type: VersioningType.CUSTOM, extractor });
      },
      (url, version) => fetch(`${url}/cats`, { headers: { 'x-mine': version } }),
    ],
  ];

  it.each(ways)('by %s have separate counters', async (_, enable, send) => {
    const { url } = await startApp(
      platform,
      { controllers: [Cats], imports: [OtherCatsModule], limits: inRedis() },
      undefined,
      enable,
    );
    for (const version of ['1', '2', '3']) {
      const answers = [await send(url, version), await send(url, version)];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    }
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(3);
  });
});

describe.each(PLATFORMS)('routes on %s', (platform) => {
  const start = (controllers: Type[], prepare?: (app: INestApplication) => void, limits = inRedis()) =>
    startApp(platform, { controllers, limits }, undefined, prepare);

  it('under a global prefix, or in modules with prefixes, are limited', async () => {
    @Controller('plain')
    class Plain {
      @Get()
      @FreqLimit(one)
      get() {
        return 'ok';
      }
    }
    @Module({ controllers: [Plain] })
    class Admin {}
    const { url } = await startApp(
      platform,
      {
        imports: [Admin, RouterModule.register([{ path: 'admin', module: Admin }])],
        limits: { ...inRedis(), rules: [{ window: '1m', limit: 3, name: 'module' }] },
      },
      undefined,
      (app) => app.setGlobalPrefix('api'),
    );
    const response = await fetch(`${url}/api/admin/plain`);
    expect([response.status, remaining(response)]).toEqual([200, { module: 2, one: 0 }]);
    expect(await statuses(1, () => fetch(`${url}/api/admin/plain`))).toEqual([429]);
    // a path without a handler is not counted
    expect(await statuses(5, () => fetch(`${url}/plain`))).toEqual([404, 404, 404, 404, 404]);
    expect(remaining(await fetch(`${url}/api/admin/plain`))).toEqual({ module: 2, one: 0 });
  });

  it('of sub-domains have separate counters, and keys by sub-domain', async () => {
    const ofHost = (context: { getArgByIndex(i: number): { headers: { host: string } } }): string =>
      context.getArgByIndex(0).headers.host;
    @Controller({ host: ':account.example.org' })
    class Accounts {
      @Get()
      @FreqLimit({ ...one, key: ofHost })
      get() {
        return 'account';
      }
    }
    @Controller({ host: 'example.org' })
    class Home {
      // Nest with Fastify does not distinguish two hosts of one route
      @Get('home')
      @FreqLimit(one)
      get() {
        return 'home';
      }
    }
    const { url } = await start([Accounts, Home]);
    const send = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${url}${host === 'example.org' ? '/home' : ''}`, { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    const hosts = ['ann.example.org', 'bob.example.org', 'example.org'];
    const codes = [];
    for (const host of [...hosts, ...hosts]) codes.push(await send(host));
    expect(codes).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it('with wildcards have one counter for all paths', async () => {
    @Controller('files')
    class Files {
      @Get(platform === 'express' ? '*path' : '*')
      @FreqLimit({ ...one, limit: 2 })
      any() {
        return 'ok';
      }
    }
    const { url } = await start([Files]);
    const paths = ['a', 'a/b', 'a/b/c', 'd?e=1'];
    const codes = [];
    for (const path of paths) codes.push((await fetch(`${url}/files/${path}`)).status);
    expect(codes).toEqual([200, 200, 429, 429]);
  });

  it('of request-scoped controllers and providers are limited', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      constructor(
        @Inject(REQUEST) readonly request: object,
        @Inject(FreqLimitService) readonly limits: FreqLimitService,
      ) {}
    }
    @Controller({ path: 'scoped', scope: Scope.REQUEST })
    class ByScope {
      @Get()
      @FreqLimit({ ...one, limit: 2 })
      get() {
        return 'ok';
      }
    }
    @Controller('provided')
    class ByProvider {
      constructor(@Inject(Scoped) private readonly scoped: Scoped) {}
      @Get()
      @FreqLimit({ ...one, limit: 2 })
      async get() {
        const { results } = await this.scoped.limits.consume({ key: 'provided', window: '1m' });
        return results[0]?.used;
      }
    }
    const limits = inRedis();
    const controllers = [ByScope, ByProvider];
    const { url } = await startApp(platform, { controllers, providers: [Scoped], limits });
    expect(await statuses(3, () => fetch(`${url}/scoped`))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => fetch(`${url}/provided`))).toEqual([200, 200, 429]);
  });

  it('for server-sent events deny with a plain response, and do not end a stream', async () => {
    @Controller()
    class Events {
      @Sse()
      @FreqLimit(one)
      events(): Observable<MessageEvent> {
        return from([{ data: 'one' }, { data: 'two' }]);
      }
    }
    const { url } = await start([Events]);
    const first = await fetch(url, { headers: { accept: 'text/event-stream' } });
    expect(limitHeaders(first)['ratelimit']).toBe('"one";a=0;w=60');
    expect(await first.text()).toMatch(/data: one[^]*data: two/);
    const denied = await fetch(url, { headers: { accept: 'text/event-stream' } });
    expect([denied.status, denied.headers.get('content-type')]).toEqual([
      429,
      expect.stringMatching(/^application\/json/),
    ]);
    expect(await denied.json()).toMatchObject({ statusCode: 429 });
  });

  it('send their own numbers when requests of several are mixed', async () => {
    const rule = (name: string, limit: number) => ({ window: '1h', limit, name, cost: 0 }) as const;
    @Controller()
    @FreqLimit(rule('x', 5))
    @FreqLimit(rule('y', 9))
    class Mixed {
      @Get('own')
      @FreqLimit(rule('x', 2))
      own() {
        return 'ok';
      }
      @Get('none')
      none() {
        return 'ok';
      }
    }
    const { url } = await start([Mixed], undefined, { ...inRedis(), rules: [rule('global', 7)] });
    const seen = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const path = i % 3 === 0 ? 'own' : 'none';
        const response = await fetch(`${url}/${path}`);
        await response.arrayBuffer();
        return `${path} ${response.status} ${String(response.headers.get('ratelimit-policy'))}`;
      }),
    );
    expect([...new Set(seen)].sort()).toEqual([
      'none 200 "global";q=7;w=3600, "x";q=5;w=3600, "y";q=9;w=3600',
      'own 200 "global";q=7;w=3600, "x";q=2;w=3600, "y";q=9;w=3600',
    ]);
  });
});
