// The limiters of the store benchmark, each as `ask(checks) → promise`; a check is { name, id, window }.
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { FreqLimitModule, FreqLimitService } from 'nestjs-freq-limit';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { moduleOf, ROOMY } from './apps/decorate.mjs';

/** Our service, as an application injects it. */
export async function serviceOf(options) {
  const module = moduleOf({ imports: [FreqLimitModule.forRoot(options)] });
  const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  return { app, service: app.get(FreqLimitService) };
}

export function oursCheck({ name, id, window }) {
  return { name, key: id, window, limit: ROOMY };
}

export async function ours(port, options) {
  const { service } = await serviceOf({ redis: `redis://127.0.0.1:${port}`, timeoutMs: 5000, ...options });
  return (checks) => service.consume(checks.map(oursCheck));
}

/** One after another, as the throttler's guard asks. */
export function nestLab(port) {
  const storage = new ThrottlerStorageRedisService(new Redis({ port }));
  return async (checks) => {
    for (const { name, id, window } of checks) {
      await storage.increment(id, window * 1000, ROOMY, window * 1000, name);
    }
  };
}

export function flexible(port) {
  const storeClient = new Redis({ port });
  const limiters = new Map();
  const limiterOf = (name, duration) => {
    let limiter = limiters.get(name);
    if (limiter === undefined) {
      limiter = new RateLimiterRedis({ storeClient, keyPrefix: `flexible-${name}`, points: ROOMY, duration });
      limiters.set(name, limiter);
    }
    return limiter;
  };
  return (checks) => Promise.all(checks.map(({ name, id, window }) => limiterOf(name, window).consume(id)));
}
