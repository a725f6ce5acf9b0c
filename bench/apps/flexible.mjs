// rate-limiter-flexible in a guard written by hand: all limits at once, headers of the tightest.
import { HttpException } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { controllerWith, moduleOf, ROOMY } from './decorate.mjs';

const HOUR_SECONDS = 3600;

export function flexible({ limits }, redisPort) {
  const storeClient = new Redis({ port: redisPort });
  const limiters = Array.from(
    { length: limits },
    (_, i) =>
      new RateLimiterRedis({
        storeClient,
        keyPrefix: `flexible${i}`,
        points: ROOMY,
        duration: (i + 1) * HOUR_SECONDS,
      }),
  );
  return moduleOf({
    controllers: [controllerWith()],
    providers: [
      {
        provide: APP_GUARD,
        inject: [HttpAdapterHost],
        useFactory: (http) => ({ canActivate: (context) => passes(limiters, context, http) }),
      },
    ],
  });
}

async function passes(limiters, context, { httpAdapter }) {
  const http = context.switchToHttp();
  const { ip } = http.getRequest();
  const response = http.getResponse();
  try {
    const results = await Promise.all(limiters.map((limiter) => limiter.consume(ip)));
    const tightest = results.reduce((a, b) => (b.remainingPoints < a.remainingPoints ? b : a));
    httpAdapter.setHeader(response, 'X-RateLimit-Limit', String(ROOMY));
    httpAdapter.setHeader(response, 'X-RateLimit-Remaining', String(tightest.remainingPoints));
    httpAdapter.setHeader(response, 'X-RateLimit-Reset', String(Math.ceil(tightest.msBeforeNext / 1000)));
    return true;
  } catch (denied) {
    if (denied instanceof Error) throw denied;
    throw new HttpException('Too Many Requests', 429);
  }
}
