import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { expectLimited } from 'nestjs-freq-limit/testing';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { adapter } from './adapter.js';
import { AppModule } from './app.js';
import { report, sendCode } from './requests.js';

// neither @nestjs/testing nor @nestjs/throttler is installed here
report(async () => {
  const app = await NestFactory.create(AppModule, adapter(), { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  await expectLimited(() => sendCode(url, '1'), { passes: 2 });
  await app.close();
  const require = createRequire(join(process.cwd(), 'any.js'));
  return [
    Object.keys(require('nestjs-freq-limit/throttler') as object),
    Object.keys((await import('nestjs-freq-limit/throttler' as string)) as object),
  ].map((names) => names.includes('FreqLimitThrottlerStorage'));
});
