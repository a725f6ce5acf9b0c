import { Controller, Get } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { aroundTheBoundary } from '../../examples/counting/boundary.js';
import { byRows, countsDenied, withBurstLimit } from '../../examples/counting/rules.js';
import { AppModule, LoginController } from '../../examples/quick-start/app.module.js';
import { FreqLimit, FreqLimitModule, FreqLimitService, SkipFreqLimit } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { closeApps, serve, startApp, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';

afterEach(closeApps);

// the examples of docs/how-counting-works.md; the suites of the stores test the same in Redis

const inMemory = (builder: TestingModuleBuilder) => useMemoryStore(builder, new TestClock());

it('a fixed window allows almost twice its limit around a boundary', async () => {
  const clock = new TestClock();
  const builder = Test.createTestingModule({ imports: [FreqLimitModule.forRoot()] });
  const module = await useMemoryStore(builder, clock).compile();
  await module.init();
  expect(await aroundTheBoundary(module.get(FreqLimitService), clock)).toEqual({
    at0s: 1,
    at59s: 4,
    at60s: 5,
  });
  await module.close();
});

describe('a log-in limit and a global limit', () => {
  /** The status of a log-in with a wrong password, and the remaining units of both limits. */
  const guess = async (url: string, user: string) => {
    const response = await post(`${url}/login`, { user, password: 'guess' });
    return [response.status, remaining(response)];
  };

  it('are both charged or both not charged', async () => {
    const { url } = await serve('express', { imports: [AppModule] }, inMemory);
    for (let used = 1; used <= 5; used++)
      expect(await guess(url, 'ann')).toEqual([401, { global: 100 - used, login: 5 - used }]);
    expect(await guess(url, 'ann')).toEqual([429, { global: 95, login: 0 }]);
    expect(await guess(url, 'bob')).toEqual([401, { global: 94, login: 4 }]);
    for (let i = 0; i < 94; i++) await guess(url, `user ${i}`);
    expect(await guess(url, 'cleo')).toEqual([429, { global: 0, login: 5 }]);
  });

  it('count denied requests only in rules with countDenied', async () => {
    const limits = { rules: [countsDenied] };
    const { url } = await startApp('express', { controllers: [LoginController], limits }, inMemory);
    for (let used = 1; used <= 5; used++) await guess(url, 'ann');
    expect(await guess(url, 'ann')).toEqual([429, { global: 94, login: 0 }]);
    for (let used = 7; used <= 100; used++) await guess(url, 'ann');
    expect(await guess(url, 'bob')).toEqual([429, { global: 0, login: 5 }]);
  });
});

describe('rules of one handler', () => {
  @Controller()
  class Search {
    @Get('bursts')
    bursts() {
      return 'found';
    }

    @Get('rows')
    @SkipFreqLimit('global', 'burst')
    @FreqLimit(byRows)
    rows() {
      return 'found';
    }
  }
  const start = () =>
    startApp('express', { controllers: [Search], limits: { rules: withBurstLimit } }, inMemory);

  it('limit bursts by a shorter window', async () => {
    const { url } = await start();
    expect(await statuses(21, () => fetch(`${url}/bursts`))).toEqual([...Array<number>(20).fill(200), 429]);
  });

  it.each([
    ['', 1],
    ['?rows=100', 1],
    ['?rows=101', 2],
    ['?rows=5000', 10],
    ['?rows=-1', 1],
    ['?rows=all', 1],
  ])('charge the cost of a request: %s', async (query, cost) => {
    const { url } = await start();
    expect(remaining(await fetch(`${url}/rows${query}`))).toEqual({ rows: 50 - cost });
  });
});
