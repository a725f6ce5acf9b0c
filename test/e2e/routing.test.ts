import {
  type CanActivate,
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Logger,
  type MessageEvent,
  Module,
  type ModuleMetadata,
  Post,
  Scope,
  Sse,
  type Type,
  UnauthorizedException,
  UseGuards,
  Version,
  VersioningType,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { APP_GUARD, REQUEST, RouterModule } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { from, type Observable } from 'rxjs';
import { adapterBehindProxies, trustProxies } from '../../examples/http/proxies.js';
import { AuthGuard, AuthModule, UsersFirstModule, UsersOnRoutesModule } from '../../examples/http/users.js';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitOptions,
  type FreqLimitRule,
  FreqLimitService,
} from '../../src/index.js';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import type { Store } from '../../src/core/store.js';
import { PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, redisUrl } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

let lines: string[];
beforeEach(() => {
  lines = [];
  const note = (message: unknown): void => void lines.push(String(message));
  jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
});

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

/** Another controller of the same route and name. */
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
        const extractor = (asked: unknown): string =>
          (asked as { headers: Record<string, string> }).headers['x-mine'] ?? '';
        app.enableVersioning({ type: VersioningType.CUSTOM, extractor });
      },
      (url, version) => fetch(`${url}/cats`, { headers: { 'x-mine': version } }),
    ],
  ];

  it.each(ways)('by %s have counters of their own', async (_, enable, ask) => {
    const { url } = await startApp(
      platform,
      { controllers: [Cats], imports: [OtherCatsModule], limits: inRedis() },
      undefined,
      enable,
    );
    for (const version of ['1', '2', '3']) {
      const answers = [await ask(url, version), await ask(url, version)];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    }
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(3);
  });
});

describe.each(PLATFORMS)('routes on %s', (platform) => {
  const start = (controllers: Type[], prepare?: (app: INestApplication) => void, limits = inRedis()) =>
    startApp(platform, { controllers, limits }, undefined, prepare);

  it('under a global prefix, or modules with prefixes, are limited as without', async () => {
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
    // what no handler answers is no visit
    expect(await statuses(5, () => fetch(`${url}/plain`))).toEqual([404, 404, 404, 404, 404]);
    expect(remaining(await fetch(`${url}/api/admin/plain`))).toEqual({ module: 2, one: 0 });
  });

  it('of sub-domains are handlers of their own, and know the sub-domain', async () => {
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
      // Nest with Fastify cannot tell two hosts of one route apart
      @Get('home')
      @FreqLimit(one)
      get() {
        return 'home';
      }
    }
    const { url } = await start([Accounts, Home]);
    const ask = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${url}${host === 'example.org' ? '/home' : ''}`, { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    const hosts = ['ann.example.org', 'bob.example.org', 'example.org'];
    const asked = [];
    for (const host of [...hosts, ...hosts]) asked.push(await ask(host));
    expect(asked).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it('with wildcards are one handler, whatever is asked for', async () => {
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

  it('of request-scoped controllers and providers are limited alike', async () => {
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

  it('for server-sent events deny by a plain answer, and let a stream run', async () => {
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

  it('keep their own numbers, however requests of several are mixed', async () => {
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
    const asked = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const path = i % 3 === 0 ? 'own' : 'none';
        const response = await fetch(`${url}/${path}`);
        await response.arrayBuffer();
        return `${path} ${response.status} ${String(response.headers.get('ratelimit-policy'))}`;
      }),
    );
    expect([...new Set(asked)].sort()).toEqual([
      'none 200 "global";q=7;w=3600, "x";q=5;w=3600, "y";q=9;w=3600',
      'own 200 "global";q=7;w=3600, "x";q=2;w=3600, "y";q=9;w=3600',
    ]);
  });

  it('count once however many guards of ours stand before them, by one call of the store', async () => {
    @Injectable()
    class Sub extends FreqLimitGuard {}
    @Controller()
    @UseGuards(FreqLimitGuard, Sub)
    @FreqLimit({ ...one, limit: 2, name: 'class' })
    class Often {
      @Get()
      @UseGuards(Sub, FreqLimitGuard)
      @FreqLimit({ ...one, limit: 2, name: 'method' })
      get() {
        return 'ok';
      }
    }
    const limits = { ...inRedis(), rules: [{ ...one, limit: 2, name: 'module' }] };
    const { app, url } = await start([Often], undefined, limits);
    const consume = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'consume');
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
    expect(consume).toHaveBeenCalledTimes(3);
    const counts = await Promise.all(
      (await keysOf(suite.client, suite.namespace)).map((key) => suite.client.get(key)),
    );
    expect(counts).toEqual(['2', '2', '2']);
  });
});

describe.each(PLATFORMS)('functions of rules that fail on %s', (platform) => {
  it('end in one 500 and one line, charge nothing, and leave no rejection behind', async () => {
    const calls: string[] = [];
    const later = (name: string, ms: number) => () => {
      calls.push(name);
      return new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`of ${name}`)), ms));
    };
    const handled = jest.fn();
    @Controller()
    class Fails {
      @Get()
      @FreqLimit({ ...one, name: 'plain' })
      @FreqLimit({ ...one, name: 'slow-key', key: later('slow-key', 50) })
      @FreqLimit({
        ...one,
        name: 'key',
        key: () => {
          calls.push('key');
          throw new Error('of key');
        },
      })
      @FreqLimit({ ...one, name: 'limit', limit: later('limit', 100) })
      get() {
        handled();
      }
    }
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    const { url } = await startApp(platform, { controllers: [Fails], limits: inRedis() });
    const response = await fetch(url);
    expect([response.status, await response.json()]).toEqual([
      500,
      expect.objectContaining({ statusCode: 500, message: 'Internal Server Error' }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(calls.sort()).toEqual(['key', 'limit', 'slow-key']);
    expect(lines).toEqual(['@FreqLimit on Fails.get, rule "key": the key function failed: of key']);
    process.removeListener('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(handled).not.toHaveBeenCalled();
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });
});

@Controller()
class ByAddress {
  @Get()
  @FreqLimit({ ...one, limit: 3 })
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('a forwarded address on %s', (platform) => {
  it('changes nothing where nobody is trusted, and the log says so once', async () => {
    const { url } = await startApp(platform, { controllers: [ByAddress], limits: inRedis() });
    let n = 0;
    const ask = (name: string) => () => fetch(url, { headers: { [name]: `198.51.100.${++n}` } });
    expect(await statuses(4, ask('x-forwarded-for'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(2, ask('forwarded'))).toEqual([429, 429]);
    expect(lines).toEqual([
      expect.stringMatching(/^A request came with a forwarded header from an address that is not trusted/),
    ]);
  });

  it('is what a trusted proxy has written, not what its client did', async () => {
    const imports = [FreqLimitModule.forRoot(inRedis())];
    const module = await Test.createTestingModule({ imports, controllers: [ByAddress] }).compile();
    const options = { logger: false } as const;
    const app =
      platform === 'express'
        ? module.createNestApplication<NestExpressApplication>(options)
        : module.createNestApplication(adapterBehindProxies(), options);
    if (platform === 'express') trustProxies(app as NestExpressApplication);
    await app.listen(0, '127.0.0.1');
    const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    let n = 0;
    const ask = (address: string) => () =>
      fetch(url, { headers: { 'x-forwarded-for': `203.0.113.${++n}, ${address}` } });
    expect(await statuses(4, ask('198.51.100.9'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(1, ask('198.51.100.10'))).toEqual([200]);
    expect((await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1)).sort()).toEqual([
      '198.51.100.10',
      '198.51.100.9',
    ]);
    expect(lines).toEqual([]);
    await app.close();
  });
});

describe.each(PLATFORMS)('the order of guards on %s', (platform) => {
  const asUser = (url: string, id: string) => () => fetch(url, { headers: { authorization: id } });

  it('counts failed log-ins: the guard stands before those of routes', async () => {
    @Injectable()
    class Never implements CanActivate {
      canActivate(): boolean {
        throw new UnauthorizedException();
      }
    }
    @Controller()
    class Login {
      @Post()
      @UseGuards(Never)
      @FreqLimit({ ...one, limit: 5 })
      login() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Login], limits: inRedis() });
    const codes = await statuses(7, () => fetch(url, { method: 'POST' }));
    expect(codes).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  it.each([
    ['a global guard of a module that is imported before', UsersFirstModule, 'mails'],
    ['a guard beside ours on the controller', UsersOnRoutesModule, 'files'],
  ])('knows the user behind %s', async (_, module, path) => {
    const { url } = await serve(platform, { imports: [module] });
    expect(await statuses(3, asUser(`${url}/${path}`, 'ann'))).toEqual([200, 200, 429]);
    expect(await statuses(3, asUser(`${url}/${path}`, 'bob'))).toEqual([200, 200, 429]);
    // whoever is refused before is not counted
    expect(await statuses(5, () => fetch(`${url}/${path}`))).toEqual([401, 401, 401, 401, 401]);
  });

  @Controller('mails')
  class Mails {
    @Get()
    @FreqLimit({ ...one, limit: 2, key: '{user.id}', name: 'user' })
    list() {
      return [];
    }
  }

  it.each<[string, ModuleMetadata, (app: INestApplication) => void, boolean]>([
    [
      'the root module itself',
      { providers: [{ provide: APP_GUARD, useClass: AuthGuard }] },
      () => undefined,
      true,
    ],
    ['a module that is imported behind ours', { imports: [AuthModule] }, () => undefined, false],
    ['app.useGlobalGuards', {}, (app) => app.useGlobalGuards(new AuthGuard()), false],
  ])('is, with a global guard of %s, as documented', async (_, parts, prepare, isUserKnown) => {
    const options = { controllers: [Mails], limits: inRedis(), ...parts };
    const { url } = await startApp(platform, options, undefined, prepare);
    expect(await statuses(2, asUser(`${url}/mails`, 'ann'))).toEqual([200, 200]);
    const other = await statuses(1, asUser(`${url}/mails`, 'bob'));
    expect(other).toEqual([isUserKnown ? 200 : 429]);
  });
});
