import {
  applyDecorators,
  Controller,
  Get,
  Inject,
  Injectable,
  Scope,
  Version,
  VERSION_NEUTRAL,
  VersioningType,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { FreqLimit, SkipFreqLimit } from '../../src/index.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';

afterEach(closeApps);

describe.each(PLATFORMS)('rules on %s', (platform) => {
  const get = async (url: string): Promise<Record<string, number>> => remaining(await fetch(url));

  it('add up from the module, the controller and the handler, the nearest of a name in the place of the other', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 5, name: 'x' })
    @FreqLimit({ window: '1m', limit: 9, name: 'y' })
    class Levels {
      @Get('own')
      @FreqLimit({ window: '1m', limit: 2, name: 'x' })
      own() {
        return 'own';
      }

      @Get('none')
      none() {
        return 'none';
      }
    }
    const rules = [{ window: '1m', limit: 700, name: 'global' }] as const;
    const { url } = await startApp(platform, { controllers: [Levels], limits: { rules } });
    const policies = async (path: string): Promise<string | null> =>
      (await fetch(`${url}/${path}`)).headers.get('ratelimit-policy');
    const own = '"global";q=700;w=60, "x";q=2;w=60, "y";q=9;w=60';
    const none = '"global";q=700;w=60, "x";q=5;w=60, "y";q=9;w=60';
    const seen = await Promise.all(
      Array.from({ length: 200 }, (_, i) => policies(i % 2 === 0 ? 'own' : 'none')),
    );
    seen.forEach((policy, i) => expect(policy).toBe(i % 2 === 0 ? own : none));
  });

  it('count where they are written: a handler its own, a controller all its handlers together', async () => {
    @Controller('group')
    @FreqLimit('1m', 3)
    class Group {
      @Get('a')
      a() {
        return 'a';
      }
      @Get('b')
      b() {
        return 'b';
      }
    }
    @Controller('each')
    class Each {
      @Get('a')
      @FreqLimit('1m', 3)
      a() {
        return 'a';
      }
      @Get('b')
      @FreqLimit('1m', 3)
      b() {
        return 'b';
      }
    }
    const { url } = await startApp(platform, { controllers: [Group, Each] });
    const at = (path: string) => (): Promise<Response> => fetch(`${url}/${path}`);
    expect(await statuses(2, at('group/a'))).toEqual([200, 200]);
    expect(await statuses(2, at('group/b'))).toEqual([200, 429]);
    expect(await statuses(1, at('group/a'))).toEqual([429]);
    expect(await statuses(4, at('each/a'))).toEqual([200, 200, 200, 429]);
    expect(await statuses(4, at('each/b'))).toEqual([200, 200, 200, 429]);
  });

  it('share a counter across controllers under one name with the scope app', async () => {
    const shared = { window: '1m', limit: 3, name: 'shared', scope: 'app' } as const;
    @Controller('one')
    class One {
      @Get()
      @FreqLimit(shared)
      get() {
        return 1;
      }
    }
    @Controller('two')
    class Two {
      @Get()
      @FreqLimit(shared)
      get() {
        return 2;
      }
      @Get('each')
      @FreqLimit({ ...shared, scope: 'controller' })
      each() {
        return 2;
      }
    }
    const { url } = await startApp(platform, { controllers: [One, Two] });
    expect(await statuses(2, () => fetch(`${url}/one`))).toEqual([200, 200]);
    expect(await statuses(2, () => fetch(`${url}/two`))).toEqual([200, 429]);
    expect(await statuses(1, () => fetch(`${url}/two/each`))).toEqual([200]);
  });

  it('count each handler by itself where a rule of the module says so', async () => {
    @Controller()
    class Plain {
      @Get('a')
      a() {
        return 'a';
      }
      @Get('b')
      b() {
        return 'b';
      }
    }
    const rules = [{ name: 'each', window: '1m', limit: 1, scope: 'handler' }] as const;
    const { url } = await startApp(platform, { controllers: [Plain], limits: { rules } });
    expect(await statuses(2, () => fetch(`${url}/a`))).toEqual([200, 429]);
    expect(await statuses(2, () => fetch(`${url}/b`))).toEqual([200, 429]);
  });

  it('keep two windows by one key apart', async () => {
    @Controller()
    class Windows {
      @Get()
      @FreqLimit('1m', 5, '{ip}')
      @FreqLimit('1d', 50, '{ip}')
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Windows] });
    expect(await statuses(6, () => fetch(url))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await get(url)).toEqual({ '1m': 0, '1d': 45 });
  });

  it('compose with applyDecorators, in written order', async () => {
    const Guarded = () => applyDecorators(Get(), FreqLimit('1m', 1), FreqLimit('1h', 2), FreqLimit('1d', 3));
    @Controller()
    class Composed {
      @Guarded()
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Composed] });
    expect(await get(url)).toEqual({ '1m': 0, '1h': 1, '1d': 2 });
    expect(Object.keys(await get(url))).toEqual(['1m', '1h', '1d']);
  });

  it('are skipped: all of them, or by name', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, name: 'class' })
    class Skipping {
      @Get('all')
      @SkipFreqLimit()
      @FreqLimit({ window: '1m', limit: 1, name: 'own' })
      all() {
        return 'ok';
      }
      @Get('one')
      @SkipFreqLimit('daily', 'class')
      @FreqLimit({ window: '1m', limit: 5, name: 'own' })
      one() {
        return 'ok';
      }
    }
    @Controller('class')
    @SkipFreqLimit()
    class SkippedClass {
      @Get()
      get() {
        return 'ok';
      }
      @Get('own')
      @FreqLimit({ window: '1m', limit: 1, name: 'own' })
      own() {
        return 'ok';
      }
    }
    const limits = { rules: [{ window: '1d', limit: 100, name: 'daily' }] } as const;
    const { url } = await startApp(platform, { controllers: [Skipping, SkippedClass], limits });
    expect(await statuses(3, () => fetch(`${url}/all`))).toEqual([200, 200, 200]);
    expect(await get(`${url}/all`)).toEqual({});
    expect(await get(`${url}/one`)).toEqual({ own: 4 });
    expect(await get(`${url}/class`)).toEqual({});
    // nearer than the skip
    expect(await statuses(2, () => fetch(`${url}/class/own`))).toEqual([200, 429]);
  });

  it('are inherited by subclasses, which do not write into their parent', async () => {
    @FreqLimit({ window: '1m', limit: 7, name: 'base' })
    class Base {
      @Get('m')
      @FreqLimit({ window: '1m', limit: 1, name: 'a' })
      m() {
        return 'base';
      }
    }
    @Controller('base')
    class Plain extends Base {}
    @Controller('derived')
    @FreqLimit({ window: '1m', limit: 9, name: 'derived' })
    class Derived extends Base {
      @Get('m')
      @FreqLimit({ window: '1m', limit: 2, name: 'b' })
      override m() {
        return 'derived';
      }
    }
    @Controller('derived2')
    class Derived2 extends Base {
      @Get('m')
      override m() {
        return 'derived2';
      }
    }
    const { url } = await startApp(platform, { controllers: [Plain, Derived, Derived2] });
    expect(await get(`${url}/base/m`)).toEqual({ base: 6, a: 0 });
    expect(await get(`${url}/derived/m`)).toEqual({ base: 6, derived: 8, b: 1 });
    expect(await get(`${url}/derived2/m`)).toEqual({ base: 6 });
    expect(await statuses(1, () => fetch(`${url}/base/m`))).toEqual([429]);
  });

  it('never meet in two controllers of one class name, nor in two versions of one route', async () => {
    const make = (path: string, version?: string) => {
      @Controller({ path, ...(version === undefined ? {} : { version }) })
      class CatsController {
        @Get()
        @FreqLimit('1m', 1)
        get() {
          return path;
        }
      }
      return CatsController;
    };
    const { url } = await startApp(
      platform,
      { controllers: [make('a'), make('b'), make('c', '1'), make('c', '2')] },
      undefined,
      (app) => app.enableVersioning({ type: VersioningType.URI }),
    );
    for (const path of ['a', 'b', 'v1/c', 'v2/c']) {
      expect(await statuses(2, () => fetch(`${url}/${path}`))).toEqual([200, 429]);
    }
  });

  it('tell handlers of one route in two versions, and modules under two prefixes, apart', async () => {
    @Controller('dogs')
    class DogsController {
      @Get()
      @Version('1')
      @FreqLimit('1m', 1)
      first() {
        return 1;
      }
      @Get()
      @Version('2')
      @FreqLimit('1m', 1)
      second() {
        return 2;
      }
    }
    const userModule = (name: string) => {
      @Controller('users')
      class UsersController {
        @Get()
        @FreqLimit('1m', 1)
        get() {
          return name;
        }
      }
      class UsersModule {}
      Object.defineProperty(UsersModule, 'name', { value: name });
      Reflect.defineMetadata('controllers', [UsersController], UsersModule);
      return UsersModule;
    };
    const [Admin, Public] = [userModule('AdminModule'), userModule('PublicModule')];
    const routes = RouterModule.register([
      { path: 'admin', module: Admin },
      { path: 'public', module: Public },
    ]);
    const { url } = await startApp(
      platform,
      { controllers: [DogsController], imports: [Admin, Public, routes] },
      undefined,
      (app) => app.enableVersioning({ type: VersioningType.HEADER, header: 'v' }),
    );
    for (const v of ['1', '2']) {
      expect(await statuses(2, () => fetch(`${url}/dogs`, { headers: { v } }))).toEqual([200, 429]);
    }
    for (const path of ['admin/users', 'public/users']) {
      expect(await statuses(2, () => fetch(`${url}/${path}`))).toEqual([200, 429]);
    }
  });

  it('hold on request-scoped controllers and on handlers their class has bound or wrapped', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest {
      readonly id = Math.random();
    }
    @Controller('scoped')
    class Scoped {
      constructor(@Inject(PerRequest) readonly per: PerRequest) {}
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const wrap: MethodDecorator = (_target, _name, descriptor: PropertyDescriptor) => {
      const inner = descriptor.value as (...args: unknown[]) => unknown;
      descriptor.value = function (this: unknown, ...args: unknown[]) {
        return inner.apply(this, args);
      };
    };
    @Controller('wrapped')
    class Wrapped {
      constructor() {
        this.bound = this.bound.bind(this);
      }
      @Get()
      @wrap
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
      @Get('bound')
      @FreqLimit('1m', 1)
      bound() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Scoped, Wrapped], providers: [PerRequest] });
    for (const path of ['scoped', 'wrapped', 'wrapped/bound']) {
      expect(await statuses(2, () => fetch(`${url}/${path}`))).toEqual([200, 429]);
    }
  });

  it('hold, or stop the request, where a class puts functions of its own before its handlers', async () => {
    @Controller('constructor')
    class InConstructor {
      constructor() {
        const inner = this.get.bind(this);
        this.get = function wrapper() {
          return inner();
        };
      }
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    @Controller({ path: 'request', scope: Scope.REQUEST })
    class PerRequest {
      constructor() {
        const inner = this.get.bind(this);
        this.get = () => inner();
      }
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [InConstructor, PerRequest] });
    expect(await statuses(2, () => fetch(`${url}/constructor`))).toEqual([200, 429]);
    // which handler such a function stands for cannot be known: no pass
    expect(await statuses(2, () => fetch(`${url}/request`))).toEqual([500, 500]);
  });

  it('tell handlers apart that one decorator has wrapped under one name', async () => {
    const Wrap: MethodDecorator = (_target, _name, descriptor: PropertyDescriptor) => {
      const inner = descriptor.value as () => unknown;
      descriptor.value = function wrapper(this: unknown) {
        return inner.call(this);
      };
      for (const key of Reflect.getMetadataKeys(inner)) {
        Reflect.defineMetadata(key, Reflect.getMetadata(key, inner), descriptor.value as object);
      }
    };
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, scope: 'handler' })
    class Wrapped {
      @Wrap
      @Get('a')
      a() {
        return 'a';
      }
      @Wrap
      @Get('b')
      b() {
        return 'b';
      }
    }
    const { url } = await startApp(platform, { controllers: [Wrapped] });
    for (const path of ['a', 'b'])
      expect(await statuses(2, () => fetch(`${url}/${path}`))).toEqual([200, 429]);
  });

  it('hold on a controller of several versions, one of them neutral', async () => {
    @Controller({ path: 'v', version: ['1', VERSION_NEUTRAL] })
    class Neutral {
      @Get()
      @FreqLimit('1m', 2)
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Neutral] }, undefined, (app) =>
      app.enableVersioning({ type: VersioningType.URI }),
    );
    expect([
      await statuses(1, () => fetch(`${url}/v1/v`)),
      await statuses(2, () => fetch(`${url}/v`)),
    ]).toEqual([[200], [200, 429]]);
  });

  it('take windows, limits, costs and skips from functions of the request', async () => {
    const query =
      (name: string) => (context: { switchToHttp(): { getRequest(): { query: Record<string, string> } } }) =>
        context.switchToHttp().getRequest().query[name];
    @Controller()
    class Dynamic {
      @Get()
      @FreqLimit({
        name: 'dynamic',
        window: async (context) => (query('window')(context) ?? '1m') as '1m',
        limit: async (context) => Number(query('limit')(context) ?? 3),
        cost: (context) => Number(query('cost')(context) ?? 1),
        skipIf: (context) => query('skip')(context) === 'yes',
      })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Dynamic] });
    expect(await get(`${url}?cost=2`)).toEqual({ dynamic: 1 });
    expect(await get(`${url}?skip=yes`)).toEqual({});
    expect(await statuses(1, () => fetch(`${url}?cost=2`))).toEqual([429]);
    // a raised limit on the same counter, a changed window on one of its own
    expect(await get(`${url}?limit=10`)).toEqual({ dynamic: 7 });
    expect(await get(`${url}?window=2m`)).toEqual({ dynamic: 2 });
    expect(await statuses(1, () => fetch(url))).toEqual([429]);
  });
});
