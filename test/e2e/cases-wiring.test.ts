import { Controller, Get, Injectable, Logger, Module, type Type } from '@nestjs/common';
import { jest } from '@jest/globals';
import { ExternalContextCreator, LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FreqLimit,
  FreqLimitModule,
  FreqLimitService,
  isFreqLimitExceeded,
  type RedisOption,
  SkipFreqLimit,
} from '../../src/index.js';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import type { Store } from '../../src/core/store.js';
import { closeApps, PLATFORMS, serve, startApp, statuses } from '../support/app.js';
import { redisSuite } from '../support/redis-suite.js';
import { clientOf, keysOf, redisUrl } from '../support/redis.js';
import { freePort, startServer } from '../support/server.js';

// Failures that users of other limiters met: the process, on modules and on a Redis that refuses.

const suite = redisSuite();
let lines: string[];

beforeEach(() => {
  lines = [];
  for (const level of ['error', 'warn'] as const) {
    const note = (message: unknown): void => void lines.push(String(message));
    jest.spyOn(Logger.prototype, level).mockImplementation(note);
  }
});

@Controller()
class Limited {
  @Get()
  @FreqLimit({ window: '1m', limit: 1, name: 'one' })
  get() {
    return 'ok';
  }
}

async function startService(redis?: RedisOption) {
  const limits = redis === undefined ? {} : { redis, namespace: suite.namespace };
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
  await module.init();
  return module;
}

describe('a user without the right', () => {
  it.each([
    ['to EVALSHA', '~* +@all -evalsha'],
    ['to our keys', '~elsewhere:* +@all'],
  ])('%s: every request is refused, with one line that says which', async (_, rights) => {
    const user = suite.namespace.replace('-', '');
    await suite.client.acl('SETUSER', user, 'on', '>secret', 'resetkeys', ...rights.split(' '));
    const url = new URL(redisUrl());
    url.username = user;
    url.password = 'secret';
    const app = await startApp('express', {
      controllers: [Limited],
      limits: { redis: url.href, namespace: suite.namespace, timeoutMs: 5_000, onStoreError: 'deny' },
    });
    expect(await statuses(5, () => fetch(app.url))).toEqual([503, 503, 503, 503, 503]);
    expect(lines).toEqual([expect.stringMatching(/NOPERM .*(evalsha|key)/i)]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    await closeApps();
    await suite.client.acl('DELUSER', user);
  });
});

describe('a Redis that comes and goes', () => {
  it('ends in no rejection that nobody awaits, and counts whenever it is there', async () => {
    // Jest fails a test on a rejection that nobody handles
    const port = await freePort();
    const { app, url } = await startApp('express', {
      controllers: [Limited],
      limits: {
        redis: `redis://127.0.0.1:${port}`,
        namespace: suite.namespace,
        timeoutMs: 5_000,
        denyCache: false,
        onStoreError: 'deny',
      },
    });
    const connection = clientOf(app.get<object>(FREQ_LIMIT_STORE));
    for (let round = 0; round < 2; round++) {
      expect(await statuses(2, () => fetch(url))).toEqual([503, 503]);
      const server = await startServer([], port);
      if (connection.status !== 'ready') await once(connection, 'ready');
      expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
      const lost = once(connection, 'close');
      await server.stop();
      await lost;
    }
    expect(await statuses(1, () => fetch(url))).toEqual([503]);
  });
});

describe('applications opened and closed', () => {
  it('leave no connection behind', async () => {
    const { hostname, port } = new URL(redisUrl());
    const connections = async (): Promise<number> =>
      String(await suite.client.client('LIST')).split(`name=${suite.namespace} `).length - 1;
    const options = { host: hostname, port: Number(port), connectionName: suite.namespace };
    const open = await startService(options);
    expect(await connections()).toBe(1);
    await open.close();
    for (let i = 0; i < 25; i++) {
      const module = await startService(options);
      await module.get(FreqLimitService).consume({ key: 'x', window: '1m', limit: 1 });
      await module.close();
    }
    expect(await connections()).toBe(0);
  });

  it.each(['memory', 'a Redis that is away'])(
    'hold nothing that keeps the process alive, %s',
    async (kind) => {
      const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
      const redis = kind === 'memory' ? undefined : `redis://127.0.0.1:${await freePort()}`;
      const before = timers();
      const modules = await Promise.all(Array.from({ length: 5 }, () => startService(redis)));
      for (const module of modules)
        await module
          .get(FreqLimitService)
          .consume({ key: 'x', window: '365d', limit: 1 })
          .catch(() => undefined);
      await Promise.all(modules.map((module) => module.close()));
      // what is left of a connection may take a moment, but no part of a second
      for (let i = 0; i < 20 && timers() > before; i++) await sleep(10);
      expect(timers()).toBeLessThanOrEqual(before);
    },
  );
});

describe('an application closed twice', () => {
  it('asks no more for a Redis that is away', async () => {
    const port = await freePort();
    const module = await startService(`redis://127.0.0.1:${port}`);
    await module.close();
    await module.close();
    const server = createServer();
    let asked = 0;
    server.on('connection', () => asked++);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    // the third attempt to connect would come within this time
    await sleep(500);
    expect(asked).toBe(0);
    server.close();
  });
});

describe('a module loaded later', () => {
  it('has its handlers limited, by their own rules and the module’s', async () => {
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

describe.each(PLATFORMS)('on %s', (platform) => {
  it('a skip of all asks the store for nothing', async () => {
    @Controller()
    @FreqLimit({ window: '1m', limit: 1, name: 'class' })
    class Skipped {
      @Get()
      @SkipFreqLimit()
      @FreqLimit({ window: '1m', limit: 1, name: 'own' })
      get() {
        return 'ok';
      }
    }
    const limits = { rules: [{ window: '1m', limit: 1, name: 'module' }] } as const;
    const { app, url } = await startApp(platform, { controllers: [Skipped], limits });
    const consume = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'consume');
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
    expect(consume).not.toHaveBeenCalled();
  });

  it('a promise of no value counts by address, and an object is never a text', async () => {
    const byKey = (value: unknown): Type => {
      class Odd {
        get() {
          return 'ok';
        }
      }
      const descriptor = Object.getOwnPropertyDescriptor(Odd.prototype, 'get')!;
      for (const decorate of [Get(), FreqLimit('1m', 1, () => Promise.resolve(value as string))])
        decorate(Odd.prototype, 'get', descriptor);
      Controller(`at${typeof value}`)(Odd);
      return Odd;
    };
    const controllers = [{ id: 1 }, Symbol('x'), undefined].map(byKey);
    const { url } = await startApp(platform, {
      controllers,
      limits: { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 },
    });
    for (const path of ['atobject', 'atsymbol', 'atundefined'])
      expect(await statuses(2, () => fetch(`${url}/${path}`))).toEqual([200, 429]);
    for (const key of await keysOf(suite.client, suite.namespace)) expect(key).toMatch(/:!ip\|127\.0\.0\.1$/);
  });

  it('the service can be replaced in a test', async () => {
    const consume = jest.fn(() => Promise.resolve({ allowed: false }));
    const { app } = await serve(
      platform,
      { imports: [FreqLimitModule.forRoot()], controllers: [Limited] },
      (builder) => builder.overrideProvider(FreqLimitService).useValue({ consume }),
    );
    expect(await app.get(FreqLimitService).consume({ key: 'x', window: '1m' })).toEqual({ allowed: false });
  });
});
