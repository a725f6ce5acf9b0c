import type { FreqLimitOptions } from 'nestjs-freq-limit';

export const sentinel: FreqLimitOptions = {
  redis: { sentinels: [{ host: 'sentinel-1', port: 26379 }], name: 'primary' },
};

export const cluster: FreqLimitOptions = {
  redis: {
    cluster: [
      { host: 'node-1', port: 6379 },
      { host: 'node-2', port: 6379 },
    ],
    options: { redisOptions: { username: 'limiter', password: process.env['REDIS_PASSWORD'] } },
  },
};
