import { Controller, Get } from '@nestjs/common';
import { jest } from '@jest/globals';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import {
  type CalendarWindow,
  FreqLimit,
  FreqLimitHealthIndicator,
  type FreqLimitRule,
  FreqLimitService,
} from 'nestjs-freq-limit';
import {
  disableLimits,
  expectLimited,
  expectNotLimited,
  TestClock,
  useMemoryStore,
} from 'nestjs-freq-limit/testing';
import { closeApps, PLATFORMS, startApp } from '../support/app.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { COUNTERS, limited, THREE } from '../support/limited.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();

describe.each(PLATFORMS)('an application under test on %s', (platform) => {
  async function start(rule: FreqLimitRule, clock = new TestClock()) {
    const parts = { controllers: [limited(FreqLimit(rule))], limits: { redis: 'redis://127.0.0.1:1' } };
    const { url } = await startApp(platform, parts, (builder) => useMemoryStore(builder, clock));
    return { clock, url, send: () => fetch(url) };
  }

  it('frees a sliding window in the order of its charges', async () => {
    const { clock, send } = await start({ window: '16m', limit: 2, algorithm: 'sliding-window' });
    await expectLimited(send, { passes: 2 });
    clock.advance('17m');
    await expectNotLimited(send, { requests: 1 });
    clock.advance('8m');
    await expectLimited(send, { passes: 1 });
    // the first of the two counts no more, the second one does
    clock.advance('9m');
    await expectLimited(send, { passes: 1 });
    clock.advance('17m');
    await expectLimited(send, { passes: 2 });
  });

  it('refills a token bucket unit by unit', async () => {
    const { clock, send } = await start({ window: '1m', limit: 6, algorithm: 'token-bucket', burst: 3 });
    await expectLimited(send, { passes: 3, retryAfter: 10 });
    clock.advance('9s');
    await expectLimited(send, { passes: 0, retryAfter: 1 });
    clock.advance('1s');
    await expectLimited(send, { passes: 1, retryAfter: 10 });
    clock.advance('20s');
    await expectLimited(send, { passes: 2 });
    clock.advance('1h');
    await expectLimited(send, { passes: 3, retryAfter: 10 });
  });

  it.each([
    ['day', '1d'],
    ['week', '7d'],
    ['month', '31d'],
    ['year', '366d'],
  ] as const)('ends a %s of the calendar', async (calendar, length) => {
    const window: CalendarWindow = { calendar, timeZone: 'America/New_York' };
    const { clock, send } = await start({ window, limit: 2 });
    await expectLimited(send, { passes: 2 });
    for (let i = 0; i < 4; i++) {
      clock.advance(length);
      await expectLimited(send, { passes: 2 });
    }
  });

  it('ends a block, and a day of the calendar on time', async () => {
    const block = await start({ window: '1m', limit: 1, blockFor: '15m' });
    await expectLimited(block.send, { passes: 1, retryAfter: 900 });
    block.clock.advance('14m');
    await expectLimited(block.send, { passes: 0, retryAfter: 60 });
    block.clock.advance('1m');
    await expectLimited(block.send, { passes: 1, retryAfter: 900 });

    const day = await start({ window: { calendar: 'day' }, limit: 1 });
    await fetch(day.url);
    const wait = Number((await fetch(day.url)).headers.get('retry-after'));
    day.clock.advance(`${(wait - 2) * 1_000}ms`);
    await expectLimited(day.send, { passes: 0 });
    day.clock.advance('2s');
    await expectLimited(day.send, { passes: 1 });
    // the wait was rounded up, so up to a second of the next day is over
    expect(['86399', '86400']).toContain((await fetch(day.url)).headers.get('retry-after'));
  });

  it.each(COUNTERS)('allows everything with disableLimits: %s', async (counter) => {
    const parts = { controllers: [limited(FreqLimit(THREE[counter]))] };
    const { url } = await startApp(platform, parts, disableLimits);
    await expectNotLimited(() => fetch(url), { requests: 6 });
  });
});

describe('fake timers', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('move a calendar across months of different lengths, and a change of clocks', async () => {
    jest.useFakeTimers({
      now: Date.parse('2028-01-31T22:59:59.000Z'),
      doNotFake: ['nextTick', 'queueMicrotask'],
    });
    const rule = {
      window: { calendar: 'month', timeZone: 'Europe/Berlin', startsAt: 31 },
      limit: 1,
    } as const;
    const { app, url } = await startApp('express', { controllers: [limited(FreqLimit(rule))] });
    const pass = () => expectLimited(() => fetch(url), { passes: 1 });
    const left = async (): Promise<number> => Number((await fetch(url)).headers.get('retry-after'));
    // the period began on January 31, and ends on February 29, the last day of a leap year's month
    await pass();
    expect(await left()).toBe(28 * 86_400 + 1);
    jest.advanceTimersByTime((28 * 86_400 + 1) * 1_000);
    await pass();
    // to March 31, with the hour of March 26 that does not exist
    expect(await left()).toBe(31 * 86_400 - 3_600);
    const { results } = await app.get(FreqLimitService).peek({
      key: 'x',
      window: { calendar: 'day', timeZone: 'Europe/Berlin' },
    });
    expect(results[0]?.windowMs).toBe(86_400_000);
    await closeApps();
  });
});

describe.each(PLATFORMS)('OpenAPI on %s', (platform) => {
  it('documents the denials of each kind once', async () => {
    @Controller()
    class All {
      @Get('all')
      @FreqLimit({ ...THREE['a sliding window'], name: 'a' })
      @FreqLimit({ ...THREE['a token bucket'], name: 'b' })
      @FreqLimit({ ...THREE['a calendar window'], name: 'c' })
      @FreqLimit({ ...THREE['a fixed window with blocks'], name: 'd', statusCode: 403 })
      all() {
        return 'ok';
      }
    }
    const { app } = await startApp(platform, { controllers: [All], limits: { headers: 'draft' } });
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    const responses = document.paths['/all']?.get?.responses ?? {};
    expect(Object.keys(responses)).toEqual(['200', '403', '429']);
    expect(responses['429']).toMatchObject({
      description: 'Too many requests',
      headers: { RateLimit: {}, 'RateLimit-Policy': {}, 'Retry-After': {} },
    });
  });
});

describe.each(EVERYWHERE)('health on %s, in %s', (platform, kind) => {
  it('is up while kinds of all counters are in use', async () => {
    const rules = COUNTERS.map((counter, i) => FreqLimit({ ...THREE[counter], name: `r${i}` }));
    const limits = limitsIn(kind, suite);
    const { app, url } = await startApp(platform, { controllers: [limited(...rules)], limits });
    await expectLimited(() => fetch(url), { passes: 3 });
    expect(app.get(FreqLimitHealthIndicator).isHealthy()).toEqual({
      freqLimit: { status: 'up', store: kind },
    });
    expect(app.get(FreqLimitService).health()).toMatchObject({ isUp: true, reason: undefined });
  });
});
