import 'reflect-metadata';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import {
  useMemoryStore,
  expectLimited,
  expectNotLimited,
  disableLimits,
  TestClock,
} from 'nestjs-freq-limit/testing';
import { FreqLimitThrottlerStorage } from 'nestjs-freq-limit/throttler';
import { adapter } from './adapter.js';
import { AppModule } from './app.js';
import { report, sendCode } from './requests.js';

@Controller()
class PingController {
  @Get()
  ping(): string {
    return 'pong';
  }
}

@Module({
  imports: [
    FreqLimitModule.forRoot({
      redis: process.env['LIMITS_REDIS_URL'],
      namespace: `${process.env['LIMITS_NAMESPACE'] ?? ''}:throttler`,
      timeoutMs: 5_000,
      globalGuard: false,
    }),
    ThrottlerModule.forRootAsync({
      inject: [FreqLimitService],
      useFactory: (limits: FreqLimitService) => ({
        throttlers: [{ ttl: 60_000, limit: 3 }],
        storage: new FreqLimitThrottlerStorage(limits),
      }),
    }),
  ],
  controllers: [PingController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
class ThrottledModule {}

async function listening<T>(app: INestApplication, use: (url: string) => Promise<T>): Promise<T> {
  await app.listen(0, '127.0.0.1');
  const answer = await use(await app.getUrl());
  await app.close();
  return answer;
}

// each step throws where its limit is not what it should be
report(async () => {
  const throttled = await NestFactory.create(ThrottledModule, adapter(), { logger: ['error', 'warn'] });
  await listening(throttled, (url) => expectLimited(() => fetch(url), { passes: 3, retryAfter: 60 }));

  const clock = new TestClock();
  const counting = useMemoryStore(Test.createTestingModule({ imports: [AppModule] }), clock);
  const counted = (await counting.compile()).createNestApplication(adapter(), { logger: false });
  await listening(counted, async (url) => {
    const send = (): Promise<Response> => sendCode(url, '1');
    await expectLimited(send, { passes: 2, retryAfter: 3600 });
    clock.advance('1h');
    await expectLimited(send, { passes: 2, retryAfter: 3600 });
  });

  const off = await disableLimits(Test.createTestingModule({ imports: [AppModule] })).compile();
  await listening(off.createNestApplication(adapter(), { logger: false }), (url) =>
    expectNotLimited(() => sendCode(url, '1'), { requests: 9 }),
  );
  return 'limited';
});
