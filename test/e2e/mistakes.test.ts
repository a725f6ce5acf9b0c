import { Controller, Get, Inject, Injectable, Module, type Type, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitHealthIndicator,
  FreqLimitModule,
  FreqLimitService,
  isFreqLimitError,
  SkipFreqLimit,
} from 'nestjs-freq-limit';

// first mistakes of people who come from another library, or who have read the first page only, without types

interface Parts {
  readonly imports?: unknown[];
  readonly controllers?: Type[];
  readonly providers?: unknown[];
}

@Controller()
class Cats {
  @Get()
  list() {
    return [];
  }
}

/** The message with which the application does not start. */
async function startUpError({ imports = [], controllers = [Cats], providers = [] }: Parts): Promise<string> {
  @Module({ imports: imports as never[], controllers, providers: providers as never[] })
  class AppModule {}
  try {
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .setLogger(false as never)
      .compile();
    const app = module.createNestApplication({ logger: false });
    await app.init().finally(() => app.close());
  } catch (error) {
    return `${isFreqLimitError(error) ? error.code : (error as Error).constructor.name}: ${(error as Error).message}`;
  }
  throw new Error('the application started');
}

const forRoot = (options: unknown) => FreqLimitModule.forRoot(options as never);
const forRootAsync = (options: unknown) => FreqLimitModule.forRootAsync(options as never);

describe('without FreqLimitModule, the error of Nest says what to import', () => {
  @UseGuards(FreqLimitGuard)
  @Controller()
  class Guarded {
    @Get()
    list() {
      return [];
    }
  }
  const ADVICE =
    'Please make sure that the argument "FreqLimitModule.forRoot() in the imports of the root module" at index [0] is available in the AppModule module.';

  it.each<[string, Parts]>([
    ['a guard of a controller', { controllers: [Guarded] }],
    ['a global guard', { providers: [{ provide: APP_GUARD, useClass: FreqLimitGuard }] }],
    ['the guard as a provider', { providers: [FreqLimitGuard] }],
    ['the service as a provider', { providers: [FreqLimitService] }],
    ['the health indicator as a provider', { providers: [FreqLimitHealthIndicator] }],
    ['the module as a provider', { providers: [FreqLimitModule] }],
  ])('for %s', async (_, parts) => {
    expect(await startUpError(parts)).toContain(ADVICE);
  });

  it('names the service where it is injected', async () => {
    @Injectable()
    class Mails {
      constructor(@Inject(FreqLimitService) readonly limits: FreqLimitService) {}
    }
    expect(await startUpError({ providers: [Mails] })).toContain(
      'the argument FreqLimitService at index [0]',
    );
  });
});

describe('FreqLimitModule without forRoot', () => {
  const ONCE = 'Call forRoot once, in the root module.';

  it.each([
    ['alone', []],
    ['next to forRoot', [FreqLimitModule.forRoot()]],
  ])('names the module that imports it, %s', async (_, others) => {
    @Module({ imports: [FreqLimitModule] })
    class CatsModule {}
    expect(await startUpError({ imports: [...others, CatsModule] })).toContain(
      `FREQ_LIMIT_INVALID_OPTIONS: FreqLimitModule is imported without forRoot, by CatsModule. ${ONCE}`,
    );
  });

  it('is imported by its class where a module re-exports it', async () => {
    @Module({ imports: [FreqLimitModule.forRoot({ global: false })], exports: [FreqLimitModule] })
    class Shared {}
    @Injectable()
    class Mails {
      constructor(@Inject(FreqLimitService) readonly limits: FreqLimitService) {}
    }
    const module = await Test.createTestingModule({ imports: [Shared], providers: [Mails] }).compile();
    expect(module.get(Mails).limits).toBeInstanceOf(FreqLimitService);
    await module.close();
  });
});

describe('options in the form of other libraries', () => {
  const throttler = { ttl: 60_000, limit: 3 };
  const rule = { window: '1m', limit: 3 };

  it.each<[string, object, string]>([
    [
      'throttlers',
      { throttlers: [throttler] },
      "write rules: [{ window: '1m', limit: 3, scope: 'handler' }]",
    ],
    [
      'one throttler',
      throttler,
      "ttl: is not an option; it belongs in a rule: rules: [{ window: '1m', limit: 5 }]",
    ],
    ['one rule', rule, 'window: is not an option; it belongs in a rule'],
    [
      'a throttler by name',
      { default: throttler },
      "write a list of rules: rules: [{ name: 'default', window: '1m', limit: 3",
    ],
    [
      'rules by name',
      { rules: { default: rule } },
      "write rules: [{ name: 'default', window: '1m', limit: 3 }]",
    ],
    [
      'a rule by name in a list',
      { rules: [{ default: rule }] },
      "{ name: 'default', window: '1m', limit: 3 }",
    ],
    ['one rule without a list', { rules: rule }, "write rules: [{ window: '1m', limit: 3 }]"],
    ['a decorator as a rule', { rules: [FreqLimit('1m', 1)] }, 'rules[0] of FreqLimitModule: [function'],
    [
      'a server',
      { host: 'localhost' },
      "host: is not an option; it belongs in redis: redis: 'redis://host:6379'",
    ],
    [
      'a factory',
      { useFactory: () => ({}) },
      'use FreqLimitModule.forRootAsync({ useFactory, inject, imports })',
    ],
    ['a misspelled option', { namespce: 'a' }, 'namespce: is not an option; did you mean namespace?'],
    ['other capital letters', { Redis: 'redis://a' }, 'Redis: is not an option; did you mean redis?'],
    [
      'redis.url',
      { redis: { url: 'redis://a' } },
      "redis: url: is not an option here; use the URL itself: redis: 'redis",
    ],
    [
      'a class as exceptionFactory',
      { exceptionFactory: class SlowDown extends Error {} },
      'exceptionFactory: SlowDown is a class; write a function that makes the exception, such as () => new SlowDown()',
    ],
  ])('are rejected for %s', async (_, options, message) => {
    expect(await startUpError({ imports: [forRoot(options)] })).toContain(message);
  });

  it.each<[string, object, string]>([
    [
      'returns nothing',
      { useFactory: () => undefined },
      'a factory returned undefined, not an object with options',
    ],
    [
      'returns throttlers',
      { useFactory: () => [throttler] },
      "return { rules: [{ window: '1m', limit: 3, scope: 'handler' }] }",
    ],
    [
      'misses a provider',
      { useFactory: (config: Map<string, string>) => ({ redis: config.get('url') }) },
      'It has 1 parameter(s), but inject lists 0 provider(s); add what is missing, such as inject: [ConfigService]',
    ],
    [
      'has another method',
      {
        useClass: class Limits {
          createThrottlerOptions() {}
        },
      },
      'Limits has no method createFreqLimitOptions(); add it, and return the options from it',
    ],
  ])('are rejected if the factory %s', async (_, options, message) => {
    const error = await startUpError({ imports: [forRootAsync(options)] });
    expect(error).toMatch(/^FREQ_LIMIT_INVALID_OPTIONS: FreqLimitModule/);
    expect(error).toContain(message);
  });

  it('keep the error of a factory that has all its providers', async () => {
    const useFactory = () => Promise.reject(new Error('no vault'));
    expect(await startUpError({ imports: [forRootAsync({ useFactory })] })).toBe('Error: no vault');
  });
});

describe('decorators in the form of other libraries', () => {
  const apply = (decorator: (...args: never[]) => MethodDecorator, ...args: unknown[]): Type => {
    @Controller()
    class Login {
      @Get()
      login() {
        return [];
      }
    }
    const place = [
      Login.prototype,
      'login',
      Object.getOwnPropertyDescriptor(Login.prototype, 'login')!,
    ] as const;
    decorator(...(args as never[]))(...place);
    return Login;
  };

  it.each<[string, unknown[], string]>([
    [
      'the throttler’s object',
      [{ default: { ttl: 60_000, limit: 3 } }],
      "{ name: 'default', window: '1m', limit: 3 }",
    ],
    ['a name and a limit', ['login', 5], '"login" is not a window; for a rule with this name, write'],
    ['a limit first', [5, '1m'], "the window comes first; write @FreqLimit('1m', 5)"],
    ['a window alone', ['1m'], "the limit is missing; write @FreqLimit('1m', 5)"],
    ['nothing', [], "arguments are missing; write @FreqLimit('1m', 5)"],
    ['options as the key', ['1m', 5, { key: '{ip}' }], 'write other options in one object'],
    ['a fourth argument', ['1m', 5, '{ip}', { name: 'a' }], 'write other options in one object'],
  ])('are rejected for @FreqLimit with %s', async (_, args, message) => {
    const error = await startUpError({
      imports: [FreqLimitModule.forRoot()],
      controllers: [apply(FreqLimit, ...args)],
    });
    expect(error).toContain('FREQ_LIMIT_INVALID_RULE: @FreqLimit on Login.login: ');
    expect(error).toContain(message);
  });

  it.each<[string, unknown]>([
    ['an object', { default: true }],
    ['a list', ['default']],
    ['true', true],
    ['undefined', undefined],
  ])('are rejected for @SkipFreqLimit with %s', async (_, name) => {
    const error = await startUpError({
      imports: [FreqLimitModule.forRoot()],
      controllers: [apply(SkipFreqLimit, name)],
    });
    expect(error).toContain('FREQ_LIMIT_INVALID_RULE: @SkipFreqLimit on Login.login: ');
    expect(error).toContain('is not the name of a rule; ');
  });

  it('are reported together with all other mistakes', async () => {
    const login = apply(FreqLimit, 'login', 5);
    const error = await startUpError({
      imports: [forRoot({ throttlers: [], rules: [{ default: { ttl: 1_000, limit: 1 } }] })],
      controllers: [login, apply(SkipFreqLimit, true)],
    });
    expect(error.split('\n')).toEqual([
      'FREQ_LIMIT_INVALID_RULE: 4 mistakes in the configuration of nestjs-freq-limit:',
      expect.stringMatching(/^FreqLimitModule: throttlers: is not an option; write rules: /),
      expect.stringMatching(
        /^rules\[0\] of FreqLimitModule: rules by name are not a rule; write each as a rule/,
      ),
      expect.stringMatching(/^@FreqLimit on Login\.login: "login" is not a window; /),
      expect.stringMatching(/^@SkipFreqLimit on Login\.login: true is not the name of a rule; /),
    ]);
  });

  it('are rejected without parentheses when the class is loaded', () => {
    expect(() => {
      class Login {
        @(FreqLimit as unknown as MethodDecorator)
        login() {}
      }
      return Login;
    }).toThrow("@FreqLimit on Login.login: the parentheses are missing; write @FreqLimit('1m', 5)");
    expect(() => {
      @(SkipFreqLimit as unknown as ClassDecorator)
      class Login {}
      return Login;
    }).toThrow('@SkipFreqLimit on Login: the parentheses are missing; write @SkipFreqLimit()');
  });
});

describe('calls in the form of other libraries', () => {
  const start = async () => {
    const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot()] }).compile();
    await module.init();
    const limits = module.get<Record<string, (...args: unknown[]) => Promise<unknown>>>(FreqLimitService);
    return { limits, module };
  };
  const check = { key: 'jo', window: '1m', limit: 5 };

  it.each<[string, string, unknown[], string]>([
    [
      'a key and points',
      'consume',
      ['jo', 1],
      "consume: takes one argument, a check; write consume({ key, window: '1m', limit: 5, cost: 1 })",
    ],
    [
      'a key',
      'peek',
      ['jo'],
      "peek: check: a string is not a check; write peek({ key, window: '1m', limit: 5 })",
    ],
    [
      'a key to delete',
      'reset',
      ['jo'],
      "reset: check: a string is not a check; write reset({ key, window: '1m' })",
    ],
    ['keys', 'consume', [['jo', 'ann']], 'consume: checks[0]: a string is not a check'],
    ['two checks', 'consume', [check, check], 'write several checks as a list: consume([{ … }, { … }])'],
    ['a check and points', 'consume', [check, 2], 'and units as cost of a check'],
    ['nothing', 'consume', [], 'undefined is not a check'],
    [
      'no window',
      'consume',
      [{ key: 'jo' }],
      "window: is missing; expected a string with a unit, such as '1m'",
    ],
    [
      'the name of a rule',
      'consume',
      [{ name: 'login', key: 'jo' }],
      "for the counter of a rule write { rule: 'login', key }",
    ],
    [
      'a promise',
      'consume',
      [Promise.resolve(check)],
      'window: is missing, because the check is a promise; await it',
    ],
    [
      'a limit as a string',
      'consume',
      [{ ...check, limit: '5' }],
      'perhaps from the environment: write Number(…)',
    ],
    [
      'points and a duration',
      'consume',
      [{ key: 'jo', points: 5, duration: 60 }],
      'did you mean limit, or cost for the units of one call?',
    ],
    [
      'a ttl',
      'consume',
      [{ key: 'jo', limit: 5, ttl: 60_000 }],
      "ttl: is not an option; did you mean window: '1m'?",
    ],
    [
      'an instance of the controller',
      'peek',
      [{ rule: 'a', controller: new Cats() }],
      'write the class itself, such as controller: LoginController',
    ],
    [
      'the handler itself',
      'peek',
      [{ rule: 'a', controller: Cats, handler: () => 1 }],
      "write it as a string, such as handler: 'login'",
    ],
    [
      'a rule of a handler',
      'peek',
      [{ rule: 'a' }],
      'for a rule of a controller or a handler, add controller and handler',
    ],
    [
      'a rule of a handler in a class',
      'peek',
      [{ rule: 'a', controller: Cats }],
      '[function Cats] is not a controller of this application',
    ],
  ])('are rejected for %s', async (_, method, args, message) => {
    const { limits, module } = await start();
    const error: unknown = await limits[method]!(...args).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'FREQ_LIMIT_INVALID_CHECK' });
    expect((error as Error).message).toContain(message);
    // a key is personal data
    expect((error as Error).message).not.toContain('jo');
    await module.close();
  });
});
