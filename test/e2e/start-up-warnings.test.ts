import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Post,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
} from 'nestjs-freq-limit';
import { closeApps, type Platform, PLATFORMS, serve, statuses } from '../support/app.js';
import { captureLog, logLine } from '../support/log.js';

const { lines } = captureLog();
afterEach(closeApps);

/** A guard of the application that calls FreqLimitGuard. */
@Injectable()
class AskingGuard implements CanActivate {
  constructor(private readonly limits: FreqLimitGuard) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.limits.canActivate(context);
  }
}

const limits = (options: FreqLimitOptions & FreqLimitModuleExtras = {}) => FreqLimitModule.forRoot(options);

describe.each(PLATFORMS)('limits without a guard on %s', (platform: Platform) => {
  it('have a warning, since they have no effect', async () => {
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
      logLine(
        'FREQ_LIMIT_UNPROTECTED_HANDLER',
        'No FreqLimitGuard protects Open.get, so the limits there have no effect.',
      ),
    ]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    expect(await statuses(2, () => fetch(`${url}/guarded`))).toEqual([200, 429]);
  });

  it('have a warning for rules of the module too, with at most eight names', async () => {
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
    expect(lines[0]).toContain('Wide.m7 and 2 more, so the limits');
  });

  it.each<[string, Type<CanActivate> | undefined]>([
    ['a subclass of it', class extends FreqLimitGuard {}],
    ['a guard that calls it', AskingGuard],
    ['a guard of the application', undefined],
  ])('have no warning after %s', async (_, guard) => {
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

describe('a key that the client writes', () => {
  @Controller()
  class Clients {
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
    @Post('separate')
    @FreqLimit('1m', 1, '{body.email}')
    @FreqLimit('1m', 1, '{ip}')
    separate() {
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

  it('has one warning for all handlers that have no other key', async () => {
    await serve('express', { imports: [limits()], controllers: [Clients] });
    expect(lines).toEqual([
      logLine(
        'FREQ_LIMIT_KEY_FROM_CLIENT',
        'All limits of Clients.email, Clients.item count by values that the client chooses',
      ),
    ]);
  });

  it('has no warning with a rule of the module by address', async () => {
    await serve('express', {
      imports: [limits({ rules: [{ window: '1m', limit: 100 }] })],
      controllers: [Clients],
    });
    expect(lines).toEqual([]);
  });

  it.each(['x-forwarded-for', 'Forwarded', 'X-Real-IP', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip'])(
    'has a warning if it is the header %s',
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
        logLine(
          'FREQ_LIMIT_KEY_FROM_PROXY_HEADER',
          `@FreqLimit on Forwarded.get, rule "1m": the key reads {headers.${header}}, which a client can set`,
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

  it('has a warning on Express', async () => {
    const { url } = await start([ByAddress], true);
    const warned = [
      logLine(
        'FREQ_LIMIT_TRUST_PROXY_ALL',
        `Express's "trust proxy" is true, so the IP of a request is the first entry`,
      ),
    ];
    expect(lines).toEqual(platform === 'express' ? warned : []);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
  });

  it.each([1, 'loopback', false])('is not assumed for %p', async (trust) => {
    await start([ByAddress], trust);
    expect(lines).toEqual([]);
  });

  it('has no warning in an application without limits', async () => {
    await start([Free], true);
    expect(lines).toEqual([]);
  });
});
