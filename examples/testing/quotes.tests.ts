import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  disableLimits,
  expectLimited,
  expectNotLimited,
  TestClock,
  useMemoryStore,
} from 'nestjs-freq-limit/testing';
import { AppModule } from './app.module.js';

async function listen(app: INestApplication): Promise<string> {
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

export async function threeQuotesPerMinute(): Promise<void> {
  const clock = new TestClock();
  const builder = useMemoryStore(Test.createTestingModule({ imports: [AppModule] }), clock);
  const app = (await builder.compile()).createNestApplication();
  const url = await listen(app);

  await expectLimited(() => fetch(`${url}/quotes`), { passes: 3, retryAfter: 60 });
  clock.advance('1m');
  await expectLimited(() => fetch(`${url}/quotes`), { passes: 3, retryAfter: 60 });
  await app.close();
}

export async function manyQuotes(): Promise<void> {
  const builder = disableLimits(Test.createTestingModule({ imports: [AppModule] }));
  const app = (await builder.compile()).createNestApplication();
  const url = await listen(app);

  await expectNotLimited(() => fetch(`${url}/quotes`), { requests: 100 });
  await app.close();
}
