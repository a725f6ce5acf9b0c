import { AssertionError } from 'node:assert';
import { createServer, type AddressInfo } from 'node:net';
import { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Test, TestingModuleBuilder } from '@nestjs/testing';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import {
  disableLimits,
  expectLimited,
  expectNotLimited,
  TestClock,
  useMemoryStore,
} from 'nestjs-freq-limit/testing';
import request from 'supertest';
import { App } from 'supertest/types.js';
import { AppModule } from './../src/app.module.js';

let app: INestApplication<App>;
const get = (path = '/') => request(app.getHttpServer()).get(path);

async function start(builder: TestingModuleBuilder): Promise<void> {
  app = (await builder.compile()).createNestApplication();
  await app.init();
}
const testingModule = (imports: ModuleMetadata['imports'] = [AppModule]) =>
  Test.createTestingModule({ imports });

afterEach(async () => {
  vi.useRealTimers();
  await app.close();
});

describe('the helpers', () => {
  it('limit on the clock of the test', async () => {
    const clock = new TestClock();
    await start(useMemoryStore(testingModule(), clock));
    await expectLimited(() => get(), { passes: 3, retryAfter: 60 });
    clock.advance('1m');
    await expectLimited(() => get(), { passes: 3, retryAfter: 60 });
    expect([(await get('/export')).text, (await get('/export')).text]).toEqual(['true', 'false']);
  });

  it('throw what Vitest shows', async () => {
    await start(useMemoryStore(testingModule()));
    const failure = expectLimited(() => get(), { passes: 2 });
    await expect(failure).rejects.toThrow('request 3 passed; only 2 should (statuses: 200, 200, 200)');
    await expect(failure).rejects.toBeInstanceOf(AssertionError);
  });

  it('switch limits off', async () => {
    await start(disableLimits(testingModule()));
    await expectNotLimited(() => get(), { requests: 20 });
  });
});

describe('fake timers', () => {
  it('move the windows in memory', async () => {
    vi.useFakeTimers();
    await start(useMemoryStore(testingModule()));
    await expectLimited(() => get(), { passes: 3, retryAfter: 60 });
    vi.setSystemTime(Date.now() + 86_400_000);
    await expectLimited(() => get(), { passes: 0, retryAfter: 60 });
    vi.advanceTimersByTime(60_001);
    await expectLimited(() => get(), { passes: 3, retryAfter: 60 });
  });

  it('leave the windows in Redis alone', async () => {
    vi.useFakeTimers();
    await start(testingModule());
    await expectLimited(() => get(), { passes: 3 });
    vi.advanceTimersByTime(60_001);
    await expectLimited(() => get(), { passes: 0 });
    const verdict = await app
      .get(FreqLimitService)
      .consume({ name: 'x', key: 'all', window: '1m', limit: 1 });
    expect(verdict.source).toBe('store');
  });

  it('do not keep requests waiting for a Redis that hangs', async () => {
    vi.useFakeTimers();
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((listening) => silent.once('listening', listening));
    const redis = `redis://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await start(testingModule([FreqLimitModule.forRoot({ redis })]).setLogger(false as never));
    const verdict = await app
      .get(FreqLimitService)
      .consume({ name: 'x', key: 'all', window: '1m', limit: 1 });
    expect(verdict.source).toBe('memory');
    silent.close();
  });
});
