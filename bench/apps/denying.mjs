// Throws the exception of a denial for every request.
import { APP_GUARD } from '@nestjs/core';
import { FreqLimitExceededException } from 'nestjs-freq-limit';
import { controllerWith, moduleOf } from './decorate.mjs';

const denied = { name: '1s', allowed: false, limit: 50, windowMs: 1000, cost: 1, used: 50, remaining: 0 };
const result = { ...denied, resetAfterMs: 500, retryAfterMs: 500 };
const verdict = { allowed: false, results: [result], tightest: result, source: 'memory' };

const guard = {
  canActivate() {
    throw new FreqLimitExceededException(verdict);
  },
};

export const denying = () =>
  moduleOf({ controllers: [controllerWith()], providers: [{ provide: APP_GUARD, useValue: guard }] });
