import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitOptions,
  type FreqLimitRule,
  type SimpleRule,
} from 'nestjs-freq-limit';
import type { Store } from '../../src/core/store.js';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { countsOf, keysOf } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const { lines } = captureLog();

describe.each(PLATFORMS)('the guard on %s', (platform) => {
  it.each(KINDS)(
    'counts a request once, with one store call, wherever the guard is applied: %s',
    async (kind) => {
      @Injectable()
      class Sub extends FreqLimitGuard {}
      @Controller()
      @UseGuards(FreqLimitGuard, Sub)
      @FreqLimit({ window: '1m', limit: 2, name: 'class' })
      class Often {
        @Get()
        @UseGuards(FreqLimitGuard, Sub, FreqLimitGuard)
        @FreqLimit({ window: '1m', limit: 2, name: 'method' })
        get() {
          return 'ok';
        }
      }
      const rules = [{ window: '1m', limit: 2, name: 'module' }] as const;
      const limits = { ...limitsIn(kind, suite), rules };
      const { app, url } = await startApp(platform, { controllers: [Often], limits });
      const consume = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'consume');
      const first = await fetch(url);
      expect(remaining(first)).toEqual({ module: 1, class: 1, method: 1 });
      expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
      expect(consume).toHaveBeenCalledTimes(3);
      expect(consume.mock.calls[0]![0]).toHaveLength(3);
      expect(await countsOf(suite.client, suite.namespace)).toEqual(kind === 'redis' ? [2, 2, 2] : []);
    },
  );

  it('denies again if another guard swallowed its denial', async () => {
    @Injectable()
    class Swallowing implements CanActivate {
      constructor(@Inject(FreqLimitGuard) private readonly guard: FreqLimitGuard) {}
      async canActivate(context: ExecutionContext): Promise<boolean> {
        try {
          return await this.guard.canActivate(context);
        } catch {
          return true;
        }
      }
    }
    @Controller()
    class Composite {
      @Get()
      @UseGuards(Swallowing, FreqLimitGuard)
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const { url } = await serve(platform, {
      imports: [FreqLimitModule.forRoot({ globalGuard: false })],
      controllers: [Composite],
      providers: [FreqLimitGuard],
    });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
  });

  it('does not call the store for a handler without rules', async () => {
    @Controller()
    class Free {
      @Get()
      get() {
        return 'ok';
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Free] });
    const consume = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'consume');
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    expect(consume).not.toHaveBeenCalled();
  });

  it('can be replaced by overrideGuard in tests', async () => {
    @Controller()
    class Limited {
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    // no server listens there
    const limits = { redis: 'redis://127.0.0.1:1', rules: [{ window: '1m', limit: 1 }] } as const;
    const { url } = await startApp(platform, { controllers: [Limited], limits }, (builder) =>
      builder.overrideGuard(FreqLimitGuard).useValue({ canActivate: () => true }),
    );
    expect(new Set(await statuses(20, () => fetch(url)))).toEqual(new Set([200]));
  });

  it('can be used by a module that does not import FreqLimitModule, after the guard that sets the user', async () => {
    @Injectable()
    class AuthGuard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const request = context
          .switchToHttp()
          .getRequest<{ headers: Record<string, string>; user?: object }>();
        if (request.headers['user'] === undefined) throw new UnauthorizedException();
        request.user = { id: request.headers['user'] };
        return true;
      }
    }
    @Controller('users')
    @UseGuards(AuthGuard, FreqLimitGuard)
    class Users {
      @Get()
      @FreqLimit('1m', 1, '{user.id}')
      get() {
        return 'ok';
      }
    }
    @Module({ controllers: [Users] })
    class FeatureModule {}
    const { url } = await serve(platform, {
      imports: [FreqLimitModule.forRoot({ globalGuard: false }), FeatureModule],
    });
    const as = (user: string) => (): Promise<Response> => fetch(`${url}/users`, { headers: { user } });
    expect(await statuses(2, as('a'))).toEqual([200, 429]);
    expect(await statuses(2, as('b'))).toEqual([200, 429]);
    expect(await statuses(3, () => fetch(`${url}/users`))).toEqual([401, 401, 401]);
  });

  it('runs globally before the guards of a route', async () => {
    class Never implements CanActivate {
      canActivate(): boolean {
        throw new UnauthorizedException();
      }
    }
    @Controller()
    class Login {
      @Get()
      @UseGuards(Never)
      @FreqLimit('1m', 5, '{ip}')
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Login] });
    expect(await statuses(6, () => fetch(url))).toEqual([401, 401, 401, 401, 401, 429]);
  });

  it('answers 500 with a log line if functions of rules fail, and charges nothing', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    let calls = 0;
    let handled = 0;
    const later = (ms: number, message: string) => async (): Promise<never> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      throw new Error(message);
    };
    @Controller()
    class Failing {
      @Get()
      @FreqLimit({ window: '1m', limit: 1, name: 'fine', key: () => (calls++, 'x') })
      @FreqLimit({ window: '1m', limit: 1, name: 'late', key: later(20, 'late key') })
      @FreqLimit({
        window: '1m',
        limit: 1,
        name: 'early',
        key: () => {
          throw new Error('early\nkey');
        },
      })
      @FreqLimit({ window: '1m', limit: later(40, 'later limit'), name: 'later' })
      get() {
        handled++;
        return 'ok';
      }
      @Get('fine')
      @FreqLimit({ window: '1m', limit: 1, name: 'fine', scope: 'controller', key: () => 'x' })
      fine() {
        return 'ok';
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Failing] });
    const consume = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'consume');
    expect(await statuses(2, () => fetch(url))).toEqual([500, 500]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    process.off('unhandledRejection', note);
    // the second line within a second is left out
    expect(lines[0]).toBe(
      'FREQ_LIMIT_RULE_FAILED: The request got 500: @FreqLimit on Failing.get, rule "early": the key function failed: early\\nkey',
    );
    expect(lines.length).toBeLessThanOrEqual(2);
    expect([unhandled, handled, calls]).toEqual([[], 0, 2]);
    expect(consume).not.toHaveBeenCalled();
  });

  it.each<[string, Partial<SimpleRule>]>([
    ['NaN for a limit', { limit: () => NaN }],
    ['undefined for a limit', { limit: () => undefined as never }],
    ['null for a limit', { limit: () => null as never }],
    ['a string for a limit', { limit: () => '5' as never }],
    ['a negative limit', { limit: () => -1 }],
    ['an infinite limit', { limit: () => Infinity }],
    ['a fraction for a limit', { limit: () => 2.5 }],
    ['a promise of NaN for a limit', { limit: () => Promise.resolve(NaN) }],
    ['a negative cost', { cost: () => -1 }],
    ['a cost above the largest safe integer', { cost: () => 2 ** 53 }],
    ['an invalid window', { window: () => '1 fortnight' as never }],
    ['a window of 0', { window: () => 0 }],
    [
      'a skipIf that throws',
      {
        skipIf: () => {
          throw new Error('no');
        },
      },
    ],
  ])('answers 500 to %s', async (_, part) => {
    @Controller()
    class Odd {
      @Get()
      @FreqLimit({ window: '1m', limit: 1, name: 'odd', ...part })
      @FreqLimit({ window: '1m', limit: 5, name: 'neighbour', scope: 'controller' })
      get() {
        return 'ok';
      }
      @Get('neighbour')
      @FreqLimit({ window: '1m', limit: 5, name: 'neighbour', scope: 'controller' })
      neighbour() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Odd] });
    const failed = await fetch(url);
    expect([failed.status, ((await failed.json()) as { message: string }).message]).toEqual([
      500,
      'Internal Server Error',
    ]);
    expect(lines).toEqual([expect.stringContaining('@FreqLimit on Odd.get, rule "odd": the ')]);
    expect(remaining(await fetch(`${url}/neighbour`))).toEqual({ neighbour: 4 });
  });

  it('skips all limits only if skipIf of the module returns true', async () => {
    @Controller()
    class Skipped {
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const skipIf = async (context: ExecutionContext) =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['staff'] === 'yes';
    const { url } = await startApp(platform, { controllers: [Skipped], limits: { skipIf } });
    expect(await statuses(3, () => fetch(url, { headers: { staff: 'yes' } }))).toEqual([200, 200, 200]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    await closeApps();
    const broken = (): never => {
      throw new Error('no staff list');
    };
    const second = await startApp(platform, { controllers: [Skipped], limits: { skipIf: broken } });
    expect(await statuses(1, () => fetch(second.url))).toEqual([500]);
    expect(lines).toEqual([expect.stringContaining('skipIf function failed: no staff list')]);
  });
});

const one: FreqLimitRule = { window: '1m', limit: 1, name: 'one' };

describe.each(PLATFORMS)('functions of rules that fail on %s', (platform) => {
  it('end in one 500 and one log line, charge nothing, and leave no unhandled rejection', async () => {
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
    expect(lines).toEqual([
      'FREQ_LIMIT_RULE_FAILED: The request got 500: @FreqLimit on Fails.get, rule "key": the key function failed: of key',
    ]);
    process.removeListener('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(handled).not.toHaveBeenCalled();
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });
});
