import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Logger,
  Module,
  Post,
  Scope,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { jest } from '@jest/globals';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
  SkipFreqLimit,
} from '../../src/index.js';
import { type Platform, PLATFORMS, serve, statuses } from '../support/app.js';
import { closeApps } from '../support/app.js';

const lines: string[] = [];
beforeEach(() => {
  lines.length = 0;
  jest
    .spyOn(Logger.prototype, 'warn')
    .mockImplementation((message: unknown) => void lines.push(String(message)));
});
afterEach(closeApps);
afterEach(() => jest.restoreAllMocks());

/** Takes the user from a header, and refuses whom it does not know. */
@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context
      .switchToHttp()
      .getRequest<{ headers: Record<string, string>; user?: { id: string } }>();
    const id = request.headers['x-user'];
    if (id === undefined) throw new UnauthorizedException();
    request.user = { id };
    return true;
  }
}

/** A guard of the application that asks ours. */
@Injectable()
class AskingGuard implements CanActivate {
  constructor(private readonly limits: FreqLimitGuard) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.limits.canActivate(context);
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestAuthGuard extends AuthGuard {}

@Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
class AuthModule {}

@Module({ providers: [{ provide: APP_GUARD, useClass: RequestAuthGuard }] })
class RequestAuthModule {}

@Controller()
class Mine {
  @Get()
  @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', name: 'mine' })
  get() {
    return 'ok';
  }
}

const limits = (options: FreqLimitOptions & FreqLimitModuleExtras = {}) => FreqLimitModule.forRoot(options);
const as = (url: string, user: string) => () => fetch(url, { headers: { 'x-user': user } });

/** Two users behind one address have two visits each. */
async function expectByUser(url: string): Promise<void> {
  expect(await statuses(3, as(url, 'a'))).toEqual([200, 200, 429]);
  expect(await statuses(3, as(url, 'b'))).toEqual([200, 200, 429]);
}

/** All users behind one address have two visits together. */
async function expectByAddress(url: string): Promise<void> {
  expect(await statuses(2, as(url, 'a'))).toEqual([200, 200]);
  expect(await statuses(1, as(url, 'b'))).toEqual([429]);
}

const EARLY = 'its key reads {user.id}, but no guard stands before FreqLimitGuard at ';

describe.each(PLATFORMS)('a rule by user on %s', (platform: Platform) => {
  it.each<[string, object[], object[]]>([
    ['the root module', [limits()], [{ provide: APP_GUARD, useClass: AuthGuard }]],
    ['a module imported before ours', [AuthModule, limits()], []],
  ])('counts by user behind a global guard of %s', async (_, imports, providers) => {
    const { url } = await serve(platform, {
      imports: imports as never,
      providers: providers as never,
      controllers: [Mine],
    });
    expect(lines).toEqual([]);
    await expectByUser(url);
    // who is not known is not counted: the guard before ours has answered
    expect(await statuses(4, () => fetch(url))).toEqual([401, 401, 401, 401]);
  });

  it.each<[string, object[]]>([
    ['imported after ours', [limits(), AuthModule]],
    ['that lives for a request', [RequestAuthModule, limits()]],
  ])('counts by address before a global guard %s, and the log says so', async (_, imports) => {
    const { url } = await serve(platform, { imports: imports as never, controllers: [Mine] });
    expect(lines).toEqual([
      expect.stringContaining(
        `@FreqLimit on Mine.get, rule "mine": ${EARLY}Mine.get: unless middleware sets`,
      ),
    ]);
    expect(lines[0]).toContain('a visit there is counted by its address');
    await expectByAddress(url);
  });

  it('counts by address before a guard of the route, and failed log-ins too', async () => {
    @Controller()
    @UseGuards(AuthGuard)
    class Routed {
      @Get()
      @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', name: 'mine' })
      get() {
        return 'ok';
      }
      @Get('ip')
      @FreqLimit({ window: '1m', limit: 5, key: '{ip}', name: 'address' })
      ip() {
        return 'ok';
      }
    }
    const { url } = await serve(platform, { imports: [limits()], controllers: [Routed] });
    expect(lines).toEqual([expect.stringContaining(`${EARLY}Routed.get`)]);
    await expectByAddress(url);
    expect(await statuses(6, () => fetch(`${url}/ip`))).toEqual([401, 401, 401, 401, 401, 429]);
  });

  it.each<[string, (decorated: Type) => void]>([
    [
      'the method',
      (one) => {
        UseGuards(AuthGuard, FreqLimitGuard)(one.prototype as object, 'get', methodOf(one));
      },
    ],
    [
      'the class',
      (one) => {
        UseGuards(AuthGuard, FreqLimitGuard)(one);
      },
    ],
    [
      'both',
      (one) => {
        UseGuards(AuthGuard)(one);
        UseGuards(FreqLimitGuard)(one.prototype as object, 'get', methodOf(one));
      },
    ],
  ])('counts by user where our guard is placed behind it on %s', async (_, decorate) => {
    @Controller()
    class Placed extends Mine {
      @Get()
      @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', name: 'mine' })
      override get() {
        return 'ok';
      }
    }
    decorate(Placed);
    const { url } = await serve(platform, {
      imports: [limits({ globalGuard: false })],
      controllers: [Placed],
    });
    expect(lines).toEqual([]);
    await expectByUser(url);
  });

  it('counts by address where our guard is placed before it', async () => {
    @Controller()
    class Placed {
      @Get()
      @UseGuards(FreqLimitGuard, AuthGuard)
      @FreqLimit({ window: '1m', limit: 2, key: '{user.id}', name: 'mine' })
      get() {
        return 'ok';
      }
    }
    const { url } = await serve(platform, {
      imports: [limits({ globalGuard: false })],
      controllers: [Placed],
    });
    expect(lines).toEqual([expect.stringContaining(`${EARLY}Placed.get`)]);
    await expectByAddress(url);
  });

  it('counts by the user that middleware sets, although the log warns', async () => {
    const { url } = await serve(platform, { imports: [limits()], controllers: [Mine] }, undefined, (app) => {
      app.use(
        (request: { headers: Record<string, string>; user?: unknown }, _: unknown, next: () => void) => {
          request.user = { id: request.headers['x-user'] };
          next();
        },
      );
    });
    expect(lines).toHaveLength(1);
    await expectByUser(url);
  });

  it('is said once for a rule of many handlers, and what becomes of its visits', async () => {
    @Controller()
    class Many {
      @Get('a')
      a() {
        return 'a';
      }
      @Get('b')
      b() {
        return 'b';
      }
      @Get('c')
      @SkipFreqLimit()
      c() {
        return 'c';
      }
    }
    const rules = [{ window: '1m', limit: 2, key: '{user.id}', name: 'mine', onMissingKey: 'deny' }] as const;
    const { url } = await serve(platform, { imports: [limits({ rules })], controllers: [Many] });
    expect(lines).toEqual([
      expect.stringContaining(`rules[0] of FreqLimitModule, rule "mine": ${EARLY}Many.a, Many.b: unless`),
    ]);
    expect(lines[0]).toContain('a visit there is refused');
    expect(await statuses(1, () => fetch(`${url}/a`))).toEqual([400]);
  });
});

describe.each(PLATFORMS)('limits without a guard on %s', (platform: Platform) => {
  it('are named: they are not held', async () => {
    @Controller()
    class Open {
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
      @Get('guarded')
      @UseGuards(FreqLimitGuard)
      @FreqLimit('1m', 1)
      guarded() {
        return 'ok';
      }
      @Get('free')
      free() {
        return 'ok';
      }
    }
    const { url } = await serve(platform, { imports: [limits({ globalGuard: false })], controllers: [Open] });
    expect(lines).toEqual([
      expect.stringMatching(/^No FreqLimitGuard stands before Open\.get: the limits there are not held\./),
    ]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    expect(await statuses(2, () => fetch(`${url}/guarded`))).toEqual([200, 429]);
  });

  it('of the module are named too, at most eight by name', async () => {
    @Controller()
    class Wide {}
    for (let i = 0; i < 10; i++) {
      const name = `m${i}`;
      Object.defineProperty(Wide.prototype, name, { value: () => name, configurable: true, writable: true });
      Get(name)(Wide.prototype, name, Object.getOwnPropertyDescriptor(Wide.prototype, name)!);
    }
    await serve(platform, {
      imports: [limits({ globalGuard: false, rules: [{ window: '1m', limit: 1 }] })],
      controllers: [Wide],
    });
    expect(lines).toEqual([expect.stringContaining('Wide.m0, Wide.m1, ')]);
    expect(lines[0]).toContain('Wide.m7 and 2 more: the limits');
  });

  it.each<[string, Type<CanActivate> | undefined]>([
    ['a subclass of it', class extends FreqLimitGuard {}],
    ['a guard that asks it', AskingGuard],
    ['a guard of the application', undefined],
  ])('are not named behind %s', async (_, guard) => {
    @Controller()
    @UseGuards(...(guard === undefined ? [] : [guard]))
    class Guarded {
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const providers = guard === undefined ? [{ provide: APP_GUARD, useClass: FreqLimitGuard }] : [];
    const { url } = await serve(platform, {
      imports: [limits({ globalGuard: false })],
      controllers: [Guarded],
      providers,
    });
    expect(lines).toEqual([]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
  });
});

describe('a key that the caller writes', () => {
  @Controller()
  class Callers {
    @Post('email')
    @FreqLimit('1m', 1, '{body.email}')
    email() {
      return 'ok';
    }
    @Get('item/:id')
    @FreqLimit('1m', 1, ['{params.id}', 'q:{query.q}'])
    @FreqLimit('1h', 1, '{headers.x-api-key}')
    item() {
      return 'ok';
    }
    @Post('beside')
    @FreqLimit('1m', 1, '{body.email}')
    @FreqLimit('1m', 1, '{ip}')
    beside() {
      return 'ok';
    }
    @Post('within')
    @FreqLimit('1m', 1, '{body.email}{ip}')
    within() {
      return 'ok';
    }
    @Post('constant')
    @FreqLimit('1m', 1, '{body.email}')
    @FreqLimit('1m', 1, 'all')
    constant() {
      return 'ok';
    }
    @Post('function')
    @FreqLimit('1m', 1, () => 'tenant')
    fn() {
      return 'ok';
    }
  }

  it('alone is one line for all handlers', async () => {
    await serve('express', { imports: [limits()], controllers: [Callers] });
    expect(lines).toEqual([
      expect.stringMatching(
        /^All limits of Callers\.email, Callers\.item count by what the caller writes himself/,
      ),
    ]);
  });

  it('is fine beside a rule of the module by address', async () => {
    await serve('express', {
      imports: [limits({ rules: [{ window: '1m', limit: 100 }] })],
      controllers: [Callers],
    });
    expect(lines).toEqual([]);
  });

  it.each(['x-forwarded-for', 'Forwarded', 'X-Real-IP', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip'])(
    'is warned of where it is the header %s',
    async (header) => {
      @Controller()
      class Forwarded {
        @Get()
        @FreqLimit('1m', 1, `{ip}{headers.${header}}`)
        get() {
          return 'ok';
        }
      }
      await serve('express', { imports: [limits()], controllers: [Forwarded] });
      expect(lines).toEqual([
        expect.stringContaining(
          `@FreqLimit on Forwarded.get, rule "1m": its key reads {headers.${header}}, which the caller may write himself`,
        ),
      ]);
    },
  );
});

describe.each(PLATFORMS)('trust in every proxy on %s', (platform) => {
  const start = (controllers: Type[], trust: unknown) =>
    serve(platform, { imports: [limits()], controllers }, undefined, (app) => {
      if (platform === 'express') (app as NestExpressApplication).set('trust proxy', trust);
    });
  @Controller()
  class ByAddress {
    @Get()
    @FreqLimit('1m', 1)
    get() {
      return 'ok';
    }
  }
  @Controller()
  class Free {
    @Get()
    get() {
      return 'ok';
    }
  }

  it('is warned of where Express has it', async () => {
    const { url } = await start([ByAddress], true);
    const warned = [
      expect.stringMatching(/^Express's trust proxy is true, so a request's address is the leftmost/),
    ];
    expect(lines).toEqual(platform === 'express' ? warned : []);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
  });

  it.each([1, 'loopback', false])('is not seen in %p', async (trust) => {
    await start([ByAddress], trust);
    expect(lines).toEqual([]);
  });

  it('is nothing to an application without limits', async () => {
    await start([Free], true);
    expect(lines).toEqual([]);
  });
});

function methodOf(classRef: Type): TypedPropertyDescriptor<unknown> {
  return Object.getOwnPropertyDescriptor(classRef.prototype, 'get')!;
}
