import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern, Transport } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Redis } from 'ioredis';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitModuleExtras,
  type FreqLimitOptions,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { disableLimits, useMemoryStore } from 'nestjs-freq-limit/testing';
import { closeApps, serve, startApp } from '../support/app.js';
import { captureLog, logLine } from '../support/log.js';
import { redisUrl, uniqueNamespace } from '../support/redis.js';
import { HAS_GLOBAL_GUARDS } from '../support/sockets.js';

const log = captureLog();
const started = () => log.infos.filter((line) => line.startsWith('FREQ_LIMIT_STARTED: '));
const environment = process.env['NODE_ENV'];
afterEach(closeApps);
afterEach(() => {
  process.env['NODE_ENV'] = environment;
});

@Controller()
@FreqLimit('1h', 100)
class Sms {
  @Get()
  @FreqLimit('1m', 1, '{query.phone}')
  send() {}
  @Get('list')
  list() {}
  @Get('free')
  @SkipFreqLimit()
  free() {}
}

const IN_MEMORY = 'FREQ_LIMIT_STARTED: Limits are counted in the memory of this process, namespace "fl". ';

describe('the line at start-up', () => {
  it('says once where counters are, and how many rules protect how many handlers', async () => {
    await startApp('express', { limits: { rules: [{ window: '1d', limit: 999 }] }, controllers: [Sms] });
    expect(started()).toEqual([`${IN_MEMORY}3 rules protect 2 handlers.`]);
    expect(log.lines).toEqual([]);
  });

  it('shows Redis without user and password', async () => {
    const { host } = new URL(redisUrl());
    const namespace = uniqueNamespace();
    const redis = `redis://default:secret@${host}/1?connectionName=secret`;
    await startApp('express', { limits: { redis, namespace }, controllers: [Sms] });
    expect(started()).toEqual([
      `FREQ_LIMIT_STARTED: Limits are counted in Redis at redis://${host}/1, namespace "${namespace}". 2 rules protect 2 handlers.`,
    ]);
    expect(log.text()).not.toContain('secret');
  });

  it('shows the client that was passed', async () => {
    const client = new Redis(redisUrl());
    await startApp('express', { limits: { redis: client }, controllers: [Sms] });
    expect(started()).toEqual([
      expect.stringContaining('/0 (the ioredis client that was passed), namespace "fl". '),
    ]);
    await client.quit();
  });

  it('says if Redis is unavailable', async () => {
    await startApp('express', {
      limits: { redis: '/nowhere/redis.sock', namespace: 'x' },
      controllers: [Sms],
    });
    expect(started()).toEqual([
      'FREQ_LIMIT_STARTED: Limits are counted in Redis at the unix socket /nowhere/redis.sock, database 0, namespace "x". It is ' +
        'unavailable now, so onStoreError applies until it recovers. 2 rules protect 2 handlers.',
    ]);
    expect(log.withCode('FREQ_LIMIT_STORE_UNAVAILABLE')).toHaveLength(1);
  });

  it('does not count handlers without FreqLimitGuard', async () => {
    @Controller('guarded')
    @UseGuards(FreqLimitGuard)
    class Guarded {
      @Get()
      @FreqLimit('1m', 1)
      get() {}
    }
    const imports = [FreqLimitModule.forRoot({ globalGuard: false })];
    await serve('express', { imports, controllers: [Sms, Guarded] });
    await serve('express', { imports, controllers: [Sms] });
    expect(started()).toEqual([
      `${IN_MEMORY}1 rule protects 1 handler.`,
      `${IN_MEMORY}No rule protects a handler.`,
    ]);
  });

  it('says that no handler has a limit', async () => {
    await startApp('express', {});
    expect(started()).toEqual([`${IN_MEMORY}No handler has a limit.`]);
  });

  it('is also logged in applications without HTTP, and in microservices', async () => {
    @Controller()
    class Messages {
      @MessagePattern('send')
      @FreqLimit('1m', 1)
      send() {}
    }
    @Module({ imports: [FreqLimitModule.forRoot()], controllers: [Messages] })
    class App {}
    const context = await NestFactory.createApplicationContext(App, { logger: false });
    await context.close();
    const options = {
      transport: Transport.TCP,
      options: { port: 0, host: '127.0.0.1' },
      logger: false,
    } as const;
    const service = await NestFactory.createMicroservice(App, options);
    await service.listen();
    await service.close();
    expect(started()).toEqual([
      `${IN_MEMORY}1 rule protects 1 handler.`,
      `${IN_MEMORY}1 rule protects 1 handler.`,
    ]);
  });

  it('counts a message of a gateway only if Nest applies global guards to it', async () => {
    @WebSocketGateway({ path: '/gateway' })
    class Chat {
      @SubscribeMessage('message')
      message() {}
    }
    const { WsAdapter } = await import('@nestjs/platform-ws');
    const limits = { rules: [{ window: '1d', limit: 9 }] } as const;
    await startApp('express', { limits, providers: [Chat] }, undefined, (app) => {
      app.useWebSocketAdapter(new WsAdapter(app));
    });
    expect(started()).toEqual([
      `${IN_MEMORY}${HAS_GLOBAL_GUARDS ? '1 rule protects 1 handler.' : 'No rule protects a handler.'}`,
    ]);
  });

  it('counts a message handler of a hybrid application only with a guard of its own', async () => {
    @Controller()
    class Messages {
      @MessagePattern('one')
      one() {}
      @MessagePattern('two')
      @UseGuards(FreqLimitGuard)
      two() {}
    }
    await startApp('express', { limits: { rules: [{ window: '1d', limit: 9 }] }, controllers: [Messages] });
    expect(started()).toEqual([`${IN_MEMORY}1 rule protects 1 handler.`]);
  });
});

describe('a warning about counters in memory', () => {
  type AsyncOptions = Parameters<typeof FreqLimitModule.forRootAsync>[0];
  class Unset {
    createFreqLimitOptions() {
      return { redis: undefined };
    }
  }
  const unset = logLine(
    'FREQ_LIMIT_MEMORY_ONLY',
    'The option redis is undefined, for example because an environment',
  );
  const start = (options: FreqLimitOptions & FreqLimitModuleExtras) =>
    serve('express', { imports: [FreqLimitModule.forRoot(options)], controllers: [Sms] });
  const startAsync = (options: AsyncOptions) =>
    serve('express', { imports: [FreqLimitModule.forRootAsync(options)], controllers: [Sms] });

  it('is logged once if redis is written and undefined', async () => {
    await start({ redis: process.env['NOT_SET'] });
    expect(log.lines).toEqual([unset]);
  });

  it.each<[string, AsyncOptions]>([
    ['a factory', { useFactory: () => ({ redis: process.env['NOT_SET'] }) }],
    ['a class', { useClass: Unset }],
  ])('is logged once if redis is undefined in the result of %s', async (_, options) => {
    await startAsync(options);
    expect(log.lines).toEqual([unset]);
  });

  it('is logged once in production if redis is left out', async () => {
    process.env['NODE_ENV'] = 'production';
    await start({});
    await startAsync({ useFactory: () => ({}) });
    const missing = logLine(
      'FREQ_LIMIT_MEMORY_ONLY',
      'NODE_ENV is production and the option redis is missing',
    );
    expect(log.lines).toEqual([missing, missing]);
  });

  it('is not logged where memory is meant', async () => {
    await start({});
    process.env['NODE_ENV'] = 'production';
    await start({ redis: false });
    await startAsync({ useFactory: () => ({ redis: false }) });
    expect(log.lines).toEqual([]);
  });

  it.each([useMemoryStore, disableLimits])('is not logged in tests with %p', async (change) => {
    process.env['NODE_ENV'] = 'production';
    @Module({ imports: [FreqLimitModule.forRoot({ redis: process.env['NOT_SET'] })], controllers: [Sms] })
    class App {}
    const module = await change(Test.createTestingModule({ imports: [App] })).compile();
    await module.init();
    await module.close();
    expect(log.lines).toEqual([]);
    expect(started()).toEqual([expect.stringContaining('in the memory of this process, ')]);
  });

  it('is not needed for an empty variable, which stops the application', async () => {
    await expect(start({ redis: '' })).rejects.toThrow(
      'FreqLimitModule: redis: the string is empty; is an environment variable such as REDIS_URL empty? Set it to the ' +
        "URL of your Redis, such as 'redis://localhost:6379', or write redis: false",
    );
    await expect(start({ redis: null as never })).rejects.toThrow(
      /redis: null is not a URL .* or false to count/,
    );
  });
});
