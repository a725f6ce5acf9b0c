import { Controller, Get, type Type } from '@nestjs/common';
import {
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
  isFreqLimitError,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';

afterEach(closeApps);

const namedRules = {
  login: { window: '15m', limit: 2, key: '{ip}' },
  shared: { window: '1m', limit: 3, key: '{ip}', scope: 'app' },
} as const;

@Controller('auth')
@FreqLimit('shared')
class Auth {
  @Get('login')
  @FreqLimit('login')
  login() {
    return 'ok';
  }
  @Get('admin')
  @SkipFreqLimit('shared')
  @FreqLimit('login', { limit: 1, key: '{query.user}' })
  admin() {
    return 'ok';
  }
}

@Controller('other')
class Other {
  @Get('login')
  @FreqLimit('login')
  login() {
    return 'ok';
  }
  @Get('shared')
  @FreqLimit('shared')
  shared() {
    return 'ok';
  }
}

/** The message of the error that stops an application with this controller. */
async function startUpError(limits: FreqLimitOptions, ...controllers: Type[]): Promise<string> {
  try {
    await startApp('express', { controllers, limits });
  } catch (error) {
    if (isFreqLimitError(error)) return error.message;
    throw error;
  }
  throw new Error('the application started');
}

function withDecorator(...args: unknown[]): Type {
  @Controller()
  class Sms {
    @Get()
    @((FreqLimit as (...args: unknown[]) => MethodDecorator)(...args))
    send() {
      return 'ok';
    }
  }
  return Sms;
}

describe.each(PLATFORMS)('a named rule on %s', (platform) => {
  it('counts where it is referenced, under its name', async () => {
    const { url } = await startApp(platform, { controllers: [Auth, Other], limits: { namedRules } });
    const first = await fetch(`${url}/auth/login`);
    expect(first.headers.get('ratelimit-policy')).toBe('"shared";q=3;w=60, "login";q=2;w=900');
    expect(await statuses(2, () => fetch(`${url}/auth/login`))).toEqual([200, 429]);
    // each handler separately, except for a rule with the scope app
    expect(await statuses(3, () => fetch(`${url}/other/login`))).toEqual([200, 200, 429]);
    expect(await statuses(2, () => fetch(`${url}/other/shared`))).toEqual([200, 429]);
  });

  it('can be changed in parts by a reference', async () => {
    const { url } = await startApp(platform, { controllers: [Auth], limits: { namedRules } });
    expect((await fetch(`${url}/auth/admin?user=a`)).headers.get('ratelimit-policy')).toBe(
      '"login";q=1;w=900',
    );
    expect(await statuses(1, () => fetch(`${url}/auth/admin?user=a`))).toEqual([429]);
    expect(await statuses(1, () => fetch(`${url}/auth/admin?user=b`))).toEqual([200]);
  });

  it('can be one of the module’s rules, and come from a factory', async () => {
    const useFactory = (): Promise<FreqLimitOptions> =>
      Promise.resolve({ namedRules, rules: ['login', { window: '1h', limit: 50 }] });
    const { url, app } = await serve(platform, {
      imports: [FreqLimitModule.forRootAsync({ useFactory })],
      controllers: [Other],
    });
    const service = app.get(FreqLimitService);
    const answer = await fetch(`${url}/other/shared`);
    expect(answer.headers.get('ratelimit-policy')).toBe(
      '"login";q=2;w=900, "1h";q=50;w=3600, "shared";q=3;w=60',
    );
    const check = { rule: 'login', key: '127.0.0.1' };
    expect((await service.peek(check)).tightest).toMatchObject({ name: 'login', used: 1 });
    await service.reset(check);
    expect((await service.peek(check)).tightest?.used).toBe(0);
  });

  it('is found by the service at the handler that refers to it', async () => {
    const { url, app } = await startApp(platform, { controllers: [Auth], limits: { namedRules } });
    await fetch(`${url}/auth/login`);
    const check = { controller: Auth, handler: 'login', rule: 'login', key: '127.0.0.1' };
    expect((await app.get(FreqLimitService).peek(check)).tightest).toMatchObject({ used: 1, limit: 2 });
  });
});

describe('a reference stops the application', () => {
  it.each<[string, unknown[], string]>([
    [
      'to no rule',
      ['logn'],
      '@FreqLimit on Sms.send: no rule in namedRules of FreqLimitModule has the name "logn"; existing names: login, shared',
    ],
    ['to a window', ['1m'], "@FreqLimit on Sms.send: the limit is missing; write @FreqLimit('1m', 5)"],
    [
      'to a window whose limit is undefined',
      ['1m', undefined],
      "the limit is missing; write @FreqLimit('1m', 5)",
    ],
    ['with a wrong change', ['login', { limit: -1 }], '@FreqLimit on Sms.send: "login": limit: -1 is not'],
    ['with a name', ['login', { name: 'x' }], '@FreqLimit on Sms.send: "login": name: '],
  ])('%s', async (_, args, message) => {
    expect(await startUpError({ namedRules }, withDecorator(...args))).toContain(message);
  });

  it('of the module too', async () => {
    expect(await startUpError({ namedRules, rules: ['unknown'] })).toContain(
      'rules[0] of FreqLimitModule: no rule in namedRules of FreqLimitModule has the name "unknown"',
    );
  });

  it('once for a wrong entry, referred to or not', async () => {
    const wrong = { login: { window: '1m', limit: -1 }, unused: { window: 'x' as never, limit: 1 } } as const;
    const message = await startUpError({ namedRules: wrong }, withDecorator('login'), withDecorator('login'));
    expect(message.split('\n')).toEqual([
      '2 mistakes in the configuration of nestjs-freq-limit:',
      expect.stringContaining('namedRules.login of FreqLimitModule: limit: -1'),
      expect.stringContaining('namedRules.unused of FreqLimitModule: window: "x"'),
    ]);
  });

  it.each([
    ['an array', []],
    ['null', null],
    ['a string', 'login'],
  ])('if the table is %s', async (_, table) => {
    expect(await startUpError({ namedRules: table as never })).toMatch(
      /^FreqLimitModule: namedRules: .+ is not an object of rules by name, such as /,
    );
  });
});
