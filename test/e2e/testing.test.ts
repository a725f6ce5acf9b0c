import { Controller, Get, Injectable, type ModuleMetadata, UseGuards } from '@nestjs/common';
import { jest } from '@jest/globals';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  FreqLimit,
  FreqLimitCharge,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
} from 'nestjs-freq-limit';
import {
  useMemoryStore,
  expectLimited,
  expectNotLimited,
  disableLimits,
  TestClock,
} from 'nestjs-freq-limit/testing';
import { closeApps, PLATFORMS, serve } from '../support/app.js';

// no server listens there, so a connection would show in the answers of the fallback
const OPTIONS: FreqLimitOptions = { redis: 'redis://127.0.0.1:1', onStoreError: 'deny' };

@Controller()
class Limited {
  @Get()
  @FreqLimit('1m', 2)
  read() {
    return 'ok';
  }
}

@Injectable()
class OwnGuard extends FreqLimitGuard {}

@Controller()
@UseGuards(OwnGuard)
class GuardedByItself extends Limited {}

const SYNC: ModuleMetadata = { imports: [FreqLimitModule.forRoot(OPTIONS)], controllers: [Limited] };
const ASYNC: ModuleMetadata = {
  imports: [FreqLimitModule.forRootAsync({ useFactory: () => Promise.resolve(OPTIONS) })],
  controllers: [Limited],
};
const WAYS: readonly (readonly [string, ModuleMetadata])[] = [
  ['forRoot', SYNC],
  ['forRootAsync', ASYNC],
];

afterEach(closeApps);

describe.each(PLATFORMS)('an application under test on %s', (platform) => {
  it.each(WAYS)('counts in memory despite %s, by the clock of the test', async (_, parts) => {
    const clock = new TestClock();
    const { app, url } = await serve(platform, parts, (builder) => useMemoryStore(builder, clock));
    const send = (): Promise<Response> => fetch(url);
    await expectLimited(send, { passes: 2, retryAfter: 60 });
    clock.advance('20s');
    await expectLimited(send, { passes: 0, retryAfter: 40 });
    clock.advance(40);
    await expectLimited(send, { passes: 2, retryAfter: 60 });
    expect(app.get(FreqLimitService).health()).toMatchObject({ store: 'memory', isUp: true });
  });

  it.each(WAYS)('allows all requests despite %s, without connecting to Redis', async (_, parts) => {
    const { app, url } = await serve(platform, parts, disableLimits);
    await expectNotLimited(() => fetch(url), { requests: 5 });
    expect([...(await fetch(url)).headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    const service = app.get(FreqLimitService);
    expect(service.health().store).toBe('memory');
    const check = { key: 'own', window: '1m', limit: 1 } as const;
    expect((await service.consume([check, check])).allowed).toBe(false);
  });

  it.each<[string, ModuleMetadata]>([
    [
      'as APP_GUARD of the application',
      {
        imports: [FreqLimitModule.forRoot({ ...OPTIONS, globalGuard: false })],
        controllers: [Limited],
        providers: [{ provide: APP_GUARD, useClass: FreqLimitGuard }],
      },
    ],
    [
      'as a guard that extends it',
      {
        imports: [FreqLimitModule.forRoot({ ...OPTIONS, globalGuard: false })],
        controllers: [GuardedByItself],
      },
    ],
  ])('allows all requests with the guard %s', async (_, parts) => {
    const { url } = await serve(platform, parts, disableLimits);
    await expectNotLimited(() => fetch(url), { requests: 5 });
  });

  it('still rejects wrong declarations', async () => {
    const imports = [FreqLimitModule.forRoot({ ...OPTIONS, rules: [{ window: '1m', limit: -1 }] })];
    await expect(serve(platform, { imports }, disableLimits)).rejects.toMatchObject({
      code: 'FREQ_LIMIT_INVALID_RULE',
    });
  });

  it('has separate counters for two modules of one test', async () => {
    const start = () => serve(platform, SYNC, (builder) => useMemoryStore(builder));
    const [a, b] = await Promise.all([start(), start()]);
    for (const { url } of [a, b]) await expectLimited(() => fetch(url), { passes: 2, retryAfter: 60 });
  });
});

describe.each(PLATFORMS)('real costs under test on %s', (platform) => {
  @Controller()
  class Chat {
    @Get()
    @FreqLimit({ name: 'tokens', window: '1m', limit: 150, cost: 100, actualCost: () => 50 })
    @FreqLimit({ name: 'money', window: '1m', limit: 9 })
    async ask(@FreqLimitCharge('money') charge: FreqLimitCharge) {
      await charge.settle(3);
      return charge.cost;
    }
  }
  const parts: ModuleMetadata = { imports: [FreqLimitModule.forRoot(OPTIONS)], controllers: [Chat] };

  it('are settled in memory', async () => {
    const { url } = await serve(platform, parts, (builder) => useMemoryStore(builder, new TestClock()));
    await expectLimited(() => fetch(url), { passes: 2, retryAfter: 60 });
  });

  it('are settled nowhere if limits are disabled', async () => {
    const { url } = await serve(platform, parts, disableLimits);
    expect(await (await fetch(url)).json()).toBe(0);
    await expectNotLimited(() => fetch(url), { requests: 3 });
  });
});

describe.each(PLATFORMS)('the service on %s', (platform) => {
  it('can be replaced in a test', async () => {
    const consume = jest.fn(() => Promise.resolve({ allowed: false }));
    const { app } = await serve(
      platform,
      { imports: [FreqLimitModule.forRoot()], controllers: [Limited] },
      (builder) => builder.overrideProvider(FreqLimitService).useValue({ consume }),
    );
    expect(await app.get(FreqLimitService).consume({ key: 'x', window: '1m' })).toEqual({ allowed: false });
  });
});

describe('a test that moves the clock', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('gets a new window only when it moves it', async () => {
    const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot()] }).compile();
    await module.init();
    const service = module.get(FreqLimitService);
    jest.useFakeTimers();
    const send = async (): Promise<boolean> =>
      (await service.consume({ key: 'x', window: '1m', limit: 1 })).allowed;
    expect([await send(), await send()]).toEqual([true, false]);
    jest.advanceTimersByTime(59_000);
    expect(await send()).toBe(false);
    jest.advanceTimersByTime(1_001);
    expect([await send(), await send()]).toEqual([true, false]);
    expect(jest.getTimerCount()).toBe(0);
    await module.close();
  });

  it('sends requests with fake timers, if the two that sockets need are real', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    const { url } = await serve('express', SYNC, useMemoryStore);
    await expectLimited(() => fetch(url), { passes: 2, retryAfter: 60 });
    jest.setSystemTime(Date.now() + 86_400_000);
    await expectLimited(() => fetch(url), { passes: 0, retryAfter: 60 });
    jest.advanceTimersByTime(60_001);
    await expectLimited(() => fetch(url), { passes: 2, retryAfter: 60 });
    jest.useRealTimers();
  });
});
