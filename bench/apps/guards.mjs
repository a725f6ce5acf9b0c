// Guards written by hand, to compare with: what a guard costs by itself, and the least that a call of Redis costs.
import { HttpException } from '@nestjs/common';
import { APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import { Redis } from 'ioredis';
import { controllerWith, moduleOf, ROOMY } from './decorate.mjs';

const HOUR_MS = 3_600_000;

export const empty = () => withGuard(() => true);

export function headers({ limits }) {
  const show = headersOf(limits);
  return withGuard((context, httpAdapter) => {
    show(context.switchToHttp().getResponse(), httpAdapter);
    return true;
  });
}

/** Sets headers as long as those of our rules. */
function headersOf(limits) {
  const texts = (text) =>
    Array.from({ length: limits }, (_, i) => text(`${i + 1}h`, (i + 1) * 3600)).join(', ');
  const policy = texts((name, seconds) => `"${name}";q=${ROOMY};w=${seconds}`);
  const rest = texts((name, seconds) => `"${name}";a=999998765;w=${seconds}`);
  return (response, httpAdapter) => {
    httpAdapter.setHeader(response, 'RateLimit-Policy', policy);
    httpAdapter.setHeader(response, 'RateLimit', rest);
  };
}

// counts all its keys, and sets each window when it opens
const SCRIPT = `
local reply = {}
for i, key in ipairs(KEYS) do
  local used = redis.call('INCR', key)
  if used == 1 then redis.call('PEXPIRE', key, ARGV[i]) end
  reply[2 * i - 1], reply[2 * i] = used, redis.call('PTTL', key)
end
return reply`;

let applications = 0;

/**
 * One `evalsha` of ioredis for each request, with our time limit, and the headers of above.
 * @param client counts by the client's header instead of the address
 */
export async function evalsha({ limits, client }, redisPort) {
  const redis = new Redis({ port: redisPort, commandTimeout: 250 });
  const sha = await redis.script('LOAD', SCRIPT);
  const windows = Array.from({ length: limits }, (_, i) => String((i + 1) * HOUR_MS));
  const namespace = `naive-${process.pid}-${applications++}`;
  const keys = windows.map((window) => `${namespace}:${window}:`);
  const show = headersOf(limits);
  return withGuard(async (context, httpAdapter) => {
    const http = context.switchToHttp();
    const request = http.getRequest();
    const value = client ? request.headers['x-client'] : request.ip;
    const reply = await redis.evalsha(sha, limits, ...keys.map((key) => key + value), ...windows);
    if (reply[0] > ROOMY) throw new HttpException('Too Many Requests', 429);
    show(http.getResponse(), httpAdapter);
    return true;
  });
}

function withGuard(canActivate) {
  return moduleOf({
    controllers: [controllerWith()],
    providers: [
      {
        provide: APP_GUARD,
        inject: [HttpAdapterHost],
        useFactory: ({ httpAdapter }) => ({ canActivate: (context) => canActivate(context, httpAdapter) }),
      },
    ],
  });
}
