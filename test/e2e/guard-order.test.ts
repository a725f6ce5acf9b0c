import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  Module,
  type ModuleMetadata,
  Post,
  Scope,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  AuthGuard as ExampleAuthGuard,
  AuthModule as ExampleAuthModule,
  UsersFirstModule,
  UsersOnRoutesModule,
} from '../../examples/http/users.js';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
  type FreqLimitRule,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { type Platform, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog, logLine } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const { lines } = captureLog();

/** Sets the user from a header, and rejects requests without one. */
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

/** Two users at one address have two requests each. */
async function expectByUser(url: string): Promise<void> {
  expect(await statuses(3, as(url, 'a'))).toEqual([200, 200, 429]);
  expect(await statuses(3, as(url, 'b'))).toEqual([200, 200, 429]);
}

/** All users at one address have two requests together. */
async function expectByAddress(url: string): Promise<void> {
  expect(await statuses(2, as(url, 'a'))).toEqual([200, 200]);
  expect(await statuses(1, as(url, 'b'))).toEqual([429]);
}

const EARLY = 'the key reads {user.id}, but no guard runs before FreqLimitGuard at ';

describe.each(PLATFORMS)('a rule by user on %s', (platform: Platform) => {
  it.each<[string, object[], object[]]>([
    ['the root module', [limits()], [{ provide: APP_GUARD, useClass: AuthGuard }]],
    ['a module imported before ours', [AuthModule, limits()], []],
  ])('counts by user after a global guard of %s', async (_, imports, providers) => {
    const { url } = await serve(platform, {
      imports: imports as never,
      providers: providers as never,
      controllers: [Mine],
    });
    expect(lines).toEqual([]);
    await expectByUser(url);
    // an unknown user is not counted: the earlier guard has answered
    expect(await statuses(4, () => fetch(url))).toEqual([401, 401, 401, 401]);
  });

  it.each<[string, object[]]>([
    ['of a module imported after ours', [limits(), AuthModule]],
    ['that is request-scoped', [RequestAuthModule, limits()]],
  ])('counts by address before a global guard %s, with a warning', async (_, imports) => {
    const { url } = await serve(platform, { imports: imports as never, controllers: [Mine] });
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_USER_NOT_SET',
        `@FreqLimit on Mine.get, rule "mine": ${EARLY}Mine.get. Unless middleware sets`,
      ),
    ]);
    expect(lines[0]).toContain('a request there is counted by IP address.');
    await expectByAddress(url);
  });

  it('counts by address before a guard of the route, also failed log-ins', async () => {
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
  ])('counts by user if FreqLimitGuard comes after the other guard on %s', async (_, decorate) => {
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

  it('counts by address if FreqLimitGuard comes before the other guard', async () => {
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

  it('counts by the user that middleware sets, despite the warning', async () => {
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

  it('has one warning for all handlers, which says what happens to their requests', async () => {
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
      expect.stringContaining(`rules[0] of FreqLimitModule, rule "mine": ${EARLY}Many.a, Many.b. Unless`),
    ]);
    expect(lines[0]).toContain('a request there is denied with status 400.');
    expect(await statuses(1, () => fetch(`${url}/a`))).toEqual([400]);
  });
});

function methodOf(classRef: Type): TypedPropertyDescriptor<unknown> {
  return Object.getOwnPropertyDescriptor(classRef.prototype, 'get')!;
}

const one: FreqLimitRule = { window: '1m', limit: 1, name: 'one' };

describe.each(PLATFORMS)('the order of guards on %s', (platform) => {
  const asUser = (url: string, id: string) => () => fetch(url, { headers: { authorization: id } });

  it('counts failed log-ins, since FreqLimitGuard runs before guards of routes', async () => {
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
    ['a global guard of a module that is imported first', UsersFirstModule, 'mails'],
    ['a guard in front of FreqLimitGuard on the controller', UsersOnRoutesModule, 'files'],
  ])('knows the user after %s', async (_, module, path) => {
    const { url } = await serve(platform, { imports: [module] });
    expect(await statuses(3, asUser(`${url}/${path}`, 'ann'))).toEqual([200, 200, 429]);
    expect(await statuses(3, asUser(`${url}/${path}`, 'bob'))).toEqual([200, 200, 429]);
    // requests that the earlier guard rejects are not counted
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
      { providers: [{ provide: APP_GUARD, useClass: ExampleAuthGuard }] },
      () => undefined,
      true,
    ],
    ['a module that is imported after ours', { imports: [ExampleAuthModule] }, () => undefined, false],
    ['app.useGlobalGuards', {}, (app) => app.useGlobalGuards(new ExampleAuthGuard()), false],
  ])('with a global guard of %s is as documented', async (_, parts, prepare, isUserKnown) => {
    const options = { controllers: [Mails], limits: inRedis(), ...parts };
    const { url } = await startApp(platform, options, undefined, prepare);
    expect(await statuses(2, asUser(`${url}/mails`, 'ann'))).toEqual([200, 200]);
    const other = await statuses(1, asUser(`${url}/mails`, 'bob'));
    expect(other).toEqual([isUserKnown ? 200 : 429]);
  });
});

describe.each(PLATFORMS)('a user known only after the global guard on %s', (platform) => {
  it('is counted by address', async () => {
    @Injectable()
    class AuthOfRoute implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const request = context
          .switchToHttp()
          .getRequest<{ headers: Record<string, string>; user?: object }>();
        request.user = { id: request.headers['user'] };
        return true;
      }
    }
    @Controller()
    class Mine {
      @Get()
      @UseGuards(AuthOfRoute)
      @FreqLimit('1m', 2, '{user.id}')
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Mine], limits: inRedis() });
    let n = 0;
    expect(await statuses(3, () => fetch(url, { headers: { user: `u${n++}` } }))).toEqual([200, 200, 429]);
  });
});
