import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { FreqLimitService, isFreqLimitError } from 'nestjs-freq-limit';
import { useMemoryStore, expectLimited, TestClock } from 'nestjs-freq-limit/testing';
import { adapter } from './adapter.js';
import { AppModule } from './app.js';

describe('the application', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = module.createNestApplication<NestFastifyApplication>(adapter());
    await app.init();
  });

  afterAll(() => app.close());

  it('limits', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      const answer = await app.inject({ method: 'POST', url: '/sms/code', payload: { phone: 'jest' } });
      statuses.push(answer.statusCode);
    }
    expect(statuses).toEqual([201, 201, 429]);
  });

  it('limits on the clock of the test', async () => {
    const builder = useMemoryStore(Test.createTestingModule({ imports: [AppModule] }), new TestClock());
    const own = (await builder.compile()).createNestApplication<NestFastifyApplication>(adapter());
    await own.init();
    const send = () => own.inject({ method: 'POST', url: '/sms/code', payload: { phone: 'jest' } });
    await expectLimited(send, { passes: 2, retryAfter: 3600 });
    await own.close();
  });

  it('injects the service', async () => {
    const wrong = app.get(FreqLimitService).consume({ key: 'x', window: '1 fortnight' as '1m' });
    await expect(wrong.catch(isFreqLimitError)).resolves.toBe(true);
  });
});
