import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { useMemoryStore, expectLimited, TestClock } from 'nestjs-freq-limit/testing';
import { AppModule } from './build/app.js';
import { adapter } from './build/adapter.js';
import { sendCode, sendRequests } from './build/requests.js';

it('limits', async () => {
  const { codes } = await sendRequests(await NestFactory.create(AppModule, adapter(), { logger: ['error'] }));
  expect(codes.map(({ status }) => status)).toEqual([201, 201, 429, 201, 201, 429, 429]);
});

it('limits on the clock of the test', async () => {
  const builder = useMemoryStore(Test.createTestingModule({ imports: [AppModule] }), new TestClock());
  const app = (await builder.compile()).createNestApplication(adapter());
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  await expectLimited(() => sendCode(url, '1'), { passes: 2, retryAfter: 3600 });
  await app.close();
});
