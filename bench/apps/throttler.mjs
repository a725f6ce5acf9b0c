import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { Redis } from 'ioredis';
import { controllerWith, moduleOf, ROOMY } from './decorate.mjs';

const HOUR_MS = 3_600_000;

export function throttler({ limits, store }, redisPort) {
  const throttlers = Array.from({ length: limits }, (_, i) => ({
    name: `limit${i}`,
    ttl: (i + 1) * HOUR_MS,
    limit: ROOMY,
  }));
  const options =
    store === 'redis'
      ? { throttlers, storage: new ThrottlerStorageRedisService(new Redis({ port: redisPort })) }
      : { throttlers };
  return moduleOf({
    imports: [ThrottlerModule.forRoot(options)],
    controllers: [controllerWith()],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  });
}
