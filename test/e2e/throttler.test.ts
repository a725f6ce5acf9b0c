import { Controller, Get, type ModuleMetadata } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  ThrottlerStorageService,
} from '@nestjs/throttler';
import { FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { FreqLimitThrottlerStorage } from 'nestjs-freq-limit/throttler';
import { PLATFORMS, serve, statuses } from '../support/app.js';
import { captureLog } from '../support/log.js';
import { keysOf, redisUrl } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { freePort } from '../support/server.js';

type Storage = FreqLimitThrottlerStorage | ThrottlerStorageService;

@Controller()
class Throttled {
  @Get('two')
  two() {
    return 'ok';
  }

  @Get('other')
  other() {
    return 'ok';
  }

  @Get('short')
  @Throttle({ burst: { limit: 1, ttl: 60_000, blockDuration: 1_000 } })
  shortBlock() {
    return 'ok';
  }

  @Get('long')
  @Throttle({ burst: { limit: 1, ttl: 1_000, blockDuration: 60_000 } })
  longBlock() {
    return 'ok';
  }

  @Get('ten')
  @Throttle({ burst: { limit: 10, ttl: 60_000 } })
  ten() {
    return 'ok';
  }

  @Get('odd')
  @Throttle({ burst: { limit: 1, ttl: 0 } })
  odd() {
    return 'ok';
  }

  @Get('free')
  @SkipThrottle({ burst: true, daily: true })
  free() {
    return 'ok';
  }
}

/** An application as users of the throttler write it. */
function throttled(limits: FreqLimitOptions, storage: (limits: FreqLimitService) => Storage): ModuleMetadata {
  return {
    imports: [
      FreqLimitModule.forRoot({ ...limits, globalGuard: false }),
      ThrottlerModule.forRootAsync({
        inject: [FreqLimitService],
        useFactory: (service: FreqLimitService) => ({
          throttlers: [
            { name: 'burst', ttl: 60_000, limit: 2 },
            { name: 'daily', ttl: 86_400_000, limit: 30 },
          ],
          storage: storage(service),
        }),
      }),
    ],
    controllers: [Throttled],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}

const ours = (limits: FreqLimitService): Storage => new FreqLimitThrottlerStorage(limits);
const theirs = (): Storage => new ThrottlerStorageService();

/** Status and limit headers, without seconds, which the contract tests. */
async function answer(url: string): Promise<readonly [number, Record<string, string>]> {
  const response = await fetch(url);
  await response.arrayBuffer();
  const headers = [...response.headers].filter(([name]) =>
    /^(x-ratelimit-(limit|remaining)|retry-after)/.test(name),
  );
  return [response.status, Object.fromEntries(headers)];
}

const suite = redisSuite();
captureLog();

describe.each(PLATFORMS)('the throttler on %s', (platform) => {
  it.each(['memory', 'redis'])('answers like with its own storage, counting in %s', async (kind) => {
    const limits =
      kind === 'redis' ? { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 } : {};
    const [a, b] = await Promise.all([
      serve(platform, throttled(limits, ours)),
      serve(platform, throttled({}, theirs)),
    ]);
    for (const path of [
      'two',
      'two',
      'two',
      'other',
      'two',
      'short',
      'short',
      'long',
      'long',
      'free',
      'free',
    ]) {
      expect([path, await answer(`${a.url}/${path}`)]).toEqual([path, await answer(`${b.url}/${path}`)]);
    }
    expect((await keysOf(suite.client, suite.namespace)).length > 0).toBe(kind === 'redis');
  });

  it('allows ten of a hundred requests at once', async () => {
    const limits = { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 };
    const { url } = await serve(platform, throttled(limits, ours));
    const seen = await Promise.all(
      Array.from({ length: 100 }, () => statuses(1, () => fetch(`${url}/ten`)).then(([status]) => status)),
    );
    expect(seen.filter((status) => status === 200)).toHaveLength(10);
    expect(seen.filter((status) => status === 429)).toHaveLength(90);
  });

  it('answers 500 for an invalid window', async () => {
    const { url } = await serve(platform, throttled({}, ours));
    expect(await statuses(2, () => fetch(`${url}/odd`))).toEqual([500, 500]);
  });

  it.each([
    ['deny', [503, 503, 503]],
    ['memory', [200, 200, 429]],
    ['allow', [200, 200, 200]],
  ] as const)('applies onStoreError while Redis is unreachable: %s', async (onStoreError, expected) => {
    const limits = { redis: `redis://127.0.0.1:${await freePort()}`, onStoreError };
    const { url } = await serve(platform, throttled(limits, ours));
    expect(await statuses(3, () => fetch(`${url}/two`))).toEqual(expected);
  });
});
