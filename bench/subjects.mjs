// The limiters of the store benchmark, each as `ask(checks) → promise`; a check is { name, id, window }.
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { moduleOf, ROOMY } from './apps/decorate.mjs';

/** Our service, as an application injects it. */
export async function serviceOf(options, library = 'nestjs-freq-limit') {
  const { FreqLimitModule, FreqLimitService } = await import(library);
  const module = moduleOf({ imports: [FreqLimitModule.forRoot(options)] });
  const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  return { app, service: app.get(FreqLimitService) };
}

export function oursCheck({ name, id, window }) {
  return { name, key: id, window, limit: ROOMY };
}

export async function ours(port, options, library) {
  const redis = `redis://127.0.0.1:${port}`;
  const { service } = await serviceOf({ redis, timeoutMs: 5000, ...options }, library);
  return (checks) => service.consume(checks.map(oursCheck));
}

/** Another build, for comparison: see BENCH_AGAINST. */
export function before(port) {
  return ours(port, { namespace: 'before' }, 'nestjs-freq-limit-before');
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
