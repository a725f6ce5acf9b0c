import { HttpException } from '@nestjs/common';
import type { FreqLimitOptions } from 'nestjs-freq-limit';

// protected async throwThrottlingException(context, detail) { throw new HttpException({ … }, 429) }
export const ownError: FreqLimitOptions = {
  exceptionFactory: ({ tightest }) =>
    new HttpException({ error: 'slow_down', rule: tightest?.name, waitMs: tightest?.retryAfterMs }, 429),
};
