import {
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
import { FreqLimit } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';

afterEach(closeApps);

describe.each(PLATFORMS)('rules on %s', (platform) => {
  it('are separate for two controllers with one class name, and for two versions of one route', async () => {
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

  it('are separate for versions of one route, and for modules under two prefixes', async () => {
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

  it('apply to request-scoped controllers and to handlers that their class has bound or wrapped', async () => {
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

  it('apply, or stop the request, if a class replaces its handlers in the constructor', async () => {
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
    // the handler of such a function is unknown, so the request must not pass
    expect(await statuses(2, () => fetch(`${url}/request`))).toEqual([500, 500]);
  });

  it('are separate for handlers that one decorator wrapped under one name', async () => {
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

  it('apply to a controller of several versions, one of them neutral', async () => {
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
});
