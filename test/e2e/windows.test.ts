import { Controller, Get, type Type } from '@nestjs/common';
import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, type FreqLimitOptions, FreqLimitService, type Window } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders } from '../support/http.js';
import { EVERYWHERE, type Kind, KINDS, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const limitsOf = (kind: Kind): FreqLimitOptions => limitsIn(kind, suite);

/** A controller with one handler, which has this limit. */
function limited(window: Window, limit: number, parts: object = {}): Type {
  @Controller()
  class Limited {
    @Get()
    @FreqLimit({ window, limit, name: 'one', ...parts })
    get() {
      return 'ok';
    }
  }
  return Limited;
}

/** The clock of the memory store, which the test moves. */
function handClock(): (ms: number) => void {
  let nowMs = 5_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  return (ms) => (nowMs += ms);
}

describe.each(KINDS)('steady requests on %s', (kind) => {
  it.each([
    ['that are allowed', 1_000_000, false],
    ['that are denied', 1, false],
    ['that are denied and counted', 1, true],
  ])('%s do not prolong a window', async (_, limit, countDenied) => {
    const { app } = await startApp('express', { limits: limitsOf(kind) });
    const service = app.get(FreqLimitService);
    const startedMs = performance.now();
    const opened: number[] = [];
    let leftBefore = Infinity;
    while (opened.length < 4) {
      const { tightest } = await service.consume({ key: 'x', window: '150ms', limit, countDenied });
      const isNew = tightest!.allowed && tightest!.used === 1;
      if (isNew) opened.push(performance.now() - startedMs);
      expect(tightest!.resetAfterMs).toBeLessThanOrEqual(isNew ? 150 : leftBefore);
      leftBefore = tightest!.resetAfterMs;
      await sleep(10);
    }
    // four starts are three whole windows
    expect(opened[3]).toBeGreaterThanOrEqual(3 * 149);
  });
});

describe('windows are exact', () => {
  it.each(PLATFORMS)('to the millisecond in memory on %s', async (platform) => {
    const advance = handClock();
    const { url } = await startApp(platform, { controllers: [limited('1500ms', 2)] });
    const seen = [];
    for (const wait of [0, 100, 500, 400, 200, 250, 150]) {
      advance(wait);
      const answer = await fetch(url);
      seen.push([answer.status, answer.headers.get('retry-after')]);
    }
    const denied = [429, '1'];
    expect(seen).toEqual([[200, null], [200, null], denied, denied, denied, denied, [200, null]]);
  });

  it.each<[Window, number]>([
    ['1500ms', 1_500],
    ['300ms', 300],
  ])('in Redis, for a window of %s', async (window, windowMs) => {
    const { url } = await startApp('express', {
      controllers: [limited(window, 2)],
      limits: limitsOf('redis'),
    });
    const startedMs = performance.now();
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    const [key] = await keysOf(suite.client, suite.namespace);
    // a cached denial counts from the moment of the Redis call, so it may end early by the time to Redis
    let slowestMs = 0;
    for (;;) {
      const most = await suite.client.pttl(key!);
      const sentMs = performance.now();
      const answer = await fetch(url);
      slowestMs = Math.max(slowestMs, performance.now() - sentMs);
      if (answer.status === 200) break;
      const least = await suite.client.pttl(key!);
      const wait = Number(answer.headers.get('retry-after'));
      expect(wait).toBeGreaterThanOrEqual(Math.max(1, Math.ceil((least + 1 - slowestMs) / 1_000)));
      expect(wait).toBeLessThanOrEqual(Math.ceil((most + 1) / 1_000));
      await sleep(25);
    }
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(windowMs - 2);
  });
});

describe('seconds and milliseconds', () => {
  it.each<[Window, number]>([
    [60, 60_000],
    ['60s', 60_000],
    ['1m', 60_000],
    [60_000, 60_000_000],
  ])('%p is a window of %i ms', async (window, windowMs) => {
    const { url } = await startApp('express', {
      controllers: [limited(window, 3)],
      limits: limitsOf('redis'),
    });
    await fetch(url);
    const [key] = await keysOf(suite.client, suite.namespace);
    const left = await suite.client.pttl(key!);
    expect(left).toBeGreaterThan(windowMs - 10_000);
    expect(left).toBeLessThanOrEqual(windowMs);
  });

  it('a string without a unit does not compile', async () => {
    // @ts-expect-error -- a window says its unit
    const decorator = FreqLimit('60', 3);
    class Untyped {
      get() {
        return 'ok';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Untyped.prototype, 'get')!;
    Get()(Untyped.prototype, 'get', descriptor);
    decorator(Untyped.prototype, 'get', descriptor);
    Controller()(Untyped);
    await expect(startApp('express', { controllers: [Untyped] })).rejects.toThrow('"60" is not a window');
  });
});

describe('windows longer than a timer', () => {
  it.each(PLATFORMS)('apply for a year in memory on %s', async (platform) => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const advance = handClock();
    const { url } = await startApp(platform, { controllers: [limited('365d', 1)] });
    const day = 86_400_000;
    expect((await fetch(url)).status).toBe(200);
    const denied = await fetch(url);
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '31536000']);
    for (const days of [25, 339]) {
      advance(days * day);
      expect(await statuses(1, () => fetch(url))).toEqual([429]);
    }
    advance(day + 1);
    expect(await statuses(1, () => fetch(url))).toEqual([200]);
    expect(timers.mock.calls.filter(([, ms]) => Number(ms) >= 2 ** 31)).toEqual([]);
  });
});

describe.each(EVERYWHERE)('a handler slower than its window on %s and %s', (platform, kind) => {
  it('sends the numbers of its charge', async () => {
    @Controller()
    class Slow {
      @Get()
      @FreqLimit({ window: '50ms', limit: 3, name: 'short' })
      async get() {
        await sleep(150);
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Slow], limits: limitsOf(kind) });
    const answer = await fetch(url);
    expect([answer.status, limitHeaders(answer)]).toEqual([
      200,
      { 'ratelimit-policy': '"short";q=3;w=1', ratelimit: '"short";a=2;w=1' },
    ]);
  });
});

describe.each(KINDS)('a process’s time of day on %s', (kind) => {
  let offsetMs: number;

  beforeEach(() => {
    offsetMs = 0;
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + offsetMs);
  });

  it('can be set without prolonging or ending a window', async () => {
    const { app } = await startApp('express', { limits: limitsOf(kind) });
    const service = app.get(FreqLimitService);
    const consume = async (window: Window): Promise<boolean> =>
      (await service.consume({ key: 'x', window, limit: 1 })).allowed;
    expect([await consume('1m'), await consume('200ms')]).toEqual([true, true]);
    offsetMs = 3_600_000;
    expect(await consume('1m')).toBe(false);
    offsetMs = -3_600_000;
    // an hour late, the window would not end within the time of the test
    while (!(await consume('200ms'))) await sleep(10);
    expect(await consume('1m')).toBe(false);
  });
});

describe('two processes an hour apart', () => {
  it('allow together exactly the limit, and send the same wait', async () => {
    const now = Date.now.bind(Date);
    let offsetMs = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + offsetMs);
    @Controller()
    class Ten {
      @Get()
      @FreqLimit('1m', 10)
      get() {
        return 'ok';
      }
    }
    const parts = { controllers: [Ten], limits: limitsOf('redis') };
    const apps = [await startApp('express', parts), await startApp('express', parts)];
    const codes: number[] = [];
    const waits: number[] = [];
    for (let i = 0; i < 12; i++) {
      offsetMs = i % 2 === 0 ? 0 : 3_600_000;
      const answer = await fetch(apps[i % 2]!.url);
      codes.push(answer.status);
      if (answer.status === 429) waits.push(Number(answer.headers.get('retry-after')));
    }
    expect(codes.filter((code) => code === 200)).toHaveLength(10);
    expect(Math.abs(waits[0]! - waits[1]!)).toBeLessThanOrEqual(1);
  });
});
