import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { ExternalContextCreator, LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { FREQ_LIMIT_RESOLVED_OPTIONS, FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import {
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  type FreqLimitOptionsFactory,
  FreqLimitService,
  isFreqLimitExceeded,
} from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { captureLog, logLine } from '../support/log.js';
import { clientOf, keysOf, plainClient, redisUrl, uniqueNamespace } from '../support/redis.js';

@Controller()
class Limited {
  @Get()
  @FreqLimit({ window: '1m', name: 'one', limit: 1 })
  get() {
    return 'ok';
  }
}

@Injectable()
class Settings implements FreqLimitOptionsFactory {
  createFreqLimitOptions(): FreqLimitOptions {
    return { headers: 'legacy' };
  }
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

const { lines } = captureLog();

afterEach(closeApps);

describe.each(PLATFORMS)('the module on %s', (platform) => {
  it.each([
    ['forRoot()', () => FreqLimitModule.forRoot(), 'ratelimit'],
    ['forRoot with options', () => FreqLimitModule.forRoot({ headers: 'legacy' }), 'x-ratelimit-limit'],
    [
      'useFactory with inject and imports',
      () =>
        FreqLimitModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: async (settings: Settings) => settings.createFreqLimitOptions(),
        }),
      'x-ratelimit-limit',
    ],
    ['useFactory alone', () => FreqLimitModule.forRootAsync({ useFactory: () => ({}) }), 'ratelimit'],
    ['useClass', () => FreqLimitModule.forRootAsync({ useClass: Settings }), 'x-ratelimit-limit'],
    [
      'useExisting',
      () => FreqLimitModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings }),
      'x-ratelimit-limit',
    ],
  ])('is configured by %s', async (_, module, header) => {
    const { url } = await serve(platform, { imports: [module()], controllers: [Limited] });
    const first = await fetch(url);
    expect([first.status, first.headers.has(header)]).toEqual([200, true]);
    expect(await statuses(1, () => fetch(url))).toEqual([429]);
  });

  it('keeps two applications of one process separate', async () => {
    const a = await serve(platform, {
      imports: [FreqLimitModule.forRoot({ headers: 'none' })],
      controllers: [Limited],
    });
    const b = await serve(platform, {
      imports: [FreqLimitModule.forRoot({ headers: 'legacy' })],
      controllers: [Limited],
    });
    expect(await statuses(2, () => fetch(a.url))).toEqual([200, 429]);
    expect(await statuses(2, () => fetch(b.url))).toEqual([200, 429]);
    expect((await fetch(a.url)).headers.has('x-ratelimit-limit')).toBe(false);
    expect((await fetch(b.url)).headers.has('x-ratelimit-limit')).toBe(true);
  });

  it('shares the counters of one namespace, and keeps two namespaces separate', async () => {
    const [one, two] = [uniqueNamespace(), uniqueNamespace()];
    const start = (namespace: string) =>
      serve(platform, {
        imports: [FreqLimitModule.forRoot({ redis: redisUrl(), namespace, timeoutMs: 5_000 })],
        controllers: [Limited],
      });
    const [a, same, other] = [await start(one), await start(one), await start(two)];
    expect(await statuses(1, () => fetch(a.url))).toEqual([200]);
    expect(await statuses(1, () => fetch(same.url))).toEqual([429]);
    expect(await statuses(1, () => fetch(other.url))).toEqual([200]);
  });
});

describe('the module', () => {
  const compile = (...imports: unknown[]) =>
    Test.createTestingModule({ imports: imports as never[] })
      .setLogger(false as never)
      .compile();

  it('resolves its options once and freezes them', async () => {
    const module = await compile(FreqLimitModule.forRoot());
    const options = module.get<object>(FREQ_LIMIT_RESOLVED_OPTIONS);
    expect(Object.isFrozen(options)).toBe(true);
    expect(options).toMatchObject({
      namespace: 'fl',
      defaultKey: '{ip}',
      headers: 'draft',
      onMissingKey: 'ip',
    });
    await module.close();
  });

  it.each([
    [
      'an unknown option',
      () => FreqLimitModule.forRoot({ prefix: 'x' } as never),
      /prefix: is not an option; did you mean namespace\?/,
    ],
    [
      'a wrong value',
      () => FreqLimitModule.forRoot({ headers: 'yes' as never }),
      /headers: "yes" is not one of 'draft'/,
    ],
    [
      'a factory that returns undefined',
      () => FreqLimitModule.forRootAsync({ useFactory: () => undefined as never }),
      /a factory returned undefined, not an object with options/,
    ],
    [
      'a factory’s globalGuard',
      () => FreqLimitModule.forRootAsync({ useFactory: () => ({ globalGuard: false }) as never }),
      /globalGuard next to useFactory/,
    ],
    [
      'a factory that rejects',
      () => FreqLimitModule.forRootAsync({ useFactory: () => Promise.reject(new Error('no vault')) }),
      /no vault/,
    ],
    ['an empty redis option', () => FreqLimitModule.forRoot({ redis: {} }), /redis: \[object\] is not a URL/],
    [
      'a number for Redis',
      () => FreqLimitModule.forRoot({ redis: 6379 as never }),
      /redis: 6379 is not a URL/,
    ],
  ])('rejects %s when the application starts', async (_, module, message) => {
    const start = async () => (await compile(module())).init();
    await expect(start()).rejects.toThrow(message);
  });

  it.each([
    ['a missing factory', {}, /write exactly one of useFactory, useClass and useExisting/],
    ['two factories', { useFactory: () => ({}), useClass: Settings }, /write exactly one of/],
    [
      'an option next to the factory',
      { useFactory: () => ({}), redis: 'redis://x' },
      /redis: is not an option/,
    ],
  ])('rejects %s in forRootAsync', (_, options, message) => {
    expect(() => FreqLimitModule.forRootAsync(options as never)).toThrow(message);
  });

  it('rejects a second registration, and names the module of it', async () => {
    @Module({ imports: [FreqLimitModule.forRoot({ headers: 'none' })] })
    class FeatureModule {}
    @Module({ imports: [FreqLimitModule.forRoot(), FeatureModule] })
    class AppModule {}
    const module = await compile(AppModule);
    await expect(module.init()).rejects.toThrow(
      /registered 2 times in one application, by (AppModule and FeatureModule|FeatureModule and AppModule)\. Call forRoot once, in the root module/,
    );
    await module.close().catch(() => undefined);
  });

  it('leaves no listener on a client that two registrations got', async () => {
    const client = new Redis(redisUrl(), { lazyConnect: true });
    const listeners = (): number[] => client.eventNames().map((name) => client.listenerCount(name));
    const before = listeners();
    @Module({ imports: [FreqLimitModule.forRoot({ redis: client })] })
    class FeatureModule {}
    @Module({ imports: [FreqLimitModule.forRoot({ redis: client }), FeatureModule] })
    class AppModule {}
    const module = await compile(AppModule);
    await expect(module.init()).rejects.toThrow('registered 2 times');
    expect([client.status, listeners()]).toEqual(['wait', before]);
    client.disconnect();
  });

  it('provides its service to modules that do not import it', async () => {
    @Injectable()
    class Worker {
      constructor(readonly limits: FreqLimitService) {}
    }
    @Module({ providers: [Worker], exports: [Worker] })
    class WorkerModule {}
    const module = await compile(FreqLimitModule.forRoot(), WorkerModule);
    expect((await module.get(Worker).limits.consume({ key: 'x', window: '1m', limit: 1 })).allowed).toBe(
      true,
    );
    await module.close();
  });

  it('closes its own connection, and not a client of the application', async () => {
    const own = await compile(FreqLimitModule.forRoot({ redis: redisUrl(), namespace: uniqueNamespace() }));
    await own.init();
    const client = clientOf(own.get<object>(FREQ_LIMIT_STORE));
    expect(client.status).toBe('ready');
    await own.close();
    await own.close();
    expect(client.status).toBe('end');

    const handed = plainClient();
    const module = await compile(
      FreqLimitModule.forRoot({ redis: handed, namespace: uniqueNamespace(), timeoutMs: 5_000 }),
    );
    await module.init();
    await module.get(FreqLimitService).consume({ key: 'x', window: '1m', limit: 1 });
    await module.close();
    expect([handed.status, await handed.ping()]).toEqual(['ready', 'PONG']);
    await handed.quit();
  });

  it.each([false, true])(
    'counts with a client of the application (auto-pipelining %p), and leaves it open',
    async (enableAutoPipelining) => {
      const namespace = uniqueNamespace();
      const client = new Redis(redisUrl(), {
        keyPrefix: `${namespace}:mine:`,
        stringNumbers: true,
        enableAutoPipelining,
      });
      await client.ping();
      const before = Object.keys(client).sort();
      const module = await compile(FreqLimitModule.forRoot({ redis: client, timeoutMs: 5_000 }));
      await module.init();
      const limits = module.get(FreqLimitService);
      const check = { key: 'x', window: '1m', limit: 2 } as const;
      const seen = [];
      for (let i = 0; i < 3; i++) seen.push((await limits.consume(check)).tightest);
      expect(seen.map((result) => [result!.allowed, result!.used])).toEqual([
        [true, 1],
        [true, 2],
        [false, 2],
      ]);
      await limits.reset(check);
      expect((await limits.consume(check)).allowed).toBe(true);
      const plain = plainClient();
      expect(await keysOf(plain, namespace)).toEqual([
        expect.stringMatching(new RegExp(`^${namespace}:mine:fl:service~`)),
      ]);
      expect(Object.keys(client).sort()).toEqual(before);
      await module.close();
      await Promise.all([client.quit(), plain.quit()]);
    },
  );

  it.each<[string, object, readonly RegExp[]]>([
    [
      'default options',
      {},
      [/maxRetriesPerRequest: 0 .*count a request twice|count a request twice.*maxRetries/, /socketTimeout/],
    ],
    ['no retries', { maxRetriesPerRequest: 0 }, [/socketTimeout/]],
    ['the options that a limiter needs', { autoResendUnfulfilledCommands: false, socketTimeout: 10_000 }, []],
  ])('warns about a client of the application with %s', async (_, options, warnings) => {
    const client = new Redis(redisUrl(), options);
    const module = await compile(FreqLimitModule.forRoot({ redis: client, namespace: uniqueNamespace() }));
    await module.init();
    expect(lines).toEqual(warnings.map((warning) => expect.stringMatching(warning) as string));
    expect(lines.join()).not.toContain('undefined');
    await module.close();
    await client.quit();
  });

  it('starts while Redis is down, with one log line, and counts when Redis is up', async () => {
    const { startServer, freePort } = await import('../support/server.js');
    const port = await freePort();
    const { url, app } = await serve('express', {
      imports: [
        FreqLimitModule.forRoot({
          redis: `redis://127.0.0.1:${port}`,
          namespace: uniqueNamespace(),
          onStoreError: 'deny',
        }),
      ],
      controllers: [Limited],
    });
    const refused = await fetch(url);
    expect([
      refused.status,
      [...refused.headers.keys()].filter((name) => name.includes('ratelimit')),
    ]).toEqual([503, []]);
    expect(await refused.json()).toMatchObject({
      statusCode: 503,
      message: 'The request limit cannot be checked right now. Try again later.',
    });
    await statuses(20, () => fetch(url));
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(lines).toEqual([
      logLine('FREQ_LIMIT_STORE_UNAVAILABLE', /Redis is unavailable; .*cannot be reached: .*ECONNREFUSED/),
    ]);
    const server = await startServer([], port);
    const client = clientOf(app.get<object>(FREQ_LIMIT_STORE));
    if (client.status !== 'ready') await once(client, 'ready');
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(lines.slice(1)).toEqual([
      logLine('FREQ_LIMIT_STORE_RECOVERED', /Redis is available again after \d+\.\d s: .*ECONNREFUSED/),
    ]);
    await closeApps();
    await server.stop();
  });
});

describe('a module loaded later', () => {
  it('has its handlers limited by their own rules and those of the module', async () => {
    @Injectable()
    class Late {
      @FreqLimit({ window: '1m', limit: 2, name: 'late' })
      run() {
        return 'ok';
      }
      plain() {
        return 'ok';
      }
    }
    @Module({ providers: [Late] })
    class LateModule {}
    const rules = [{ window: '1m', limit: 3, key: 'everybody', name: 'app' }] as const;
    const { app } = await startApp('express', { limits: { rules } });
    const late = (await app.get(LazyModuleLoader).load(() => LateModule)).get(Late);
    const response = { headersSent: false, set: () => undefined };
    const invoke = (method: 'run' | 'plain'): Promise<unknown> => {
      const handler = app.get(ExternalContextCreator).create(late, late[method], method, 'none') as (
        ...args: unknown[]
      ) => Promise<unknown>;
      return handler({ ip: '203.0.113.7' }, response).catch((error: unknown) => isFreqLimitExceeded(error));
    };
    expect([await invoke('run'), await invoke('run'), await invoke('run')]).toEqual(['ok', 'ok', true]);
    expect([await invoke('plain'), await invoke('plain')]).toEqual(['ok', true]);
  });
});
