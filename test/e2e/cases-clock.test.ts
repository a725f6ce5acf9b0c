import { Controller, Get } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
  type Window,
} from '../../src/index.js';
import { closeApps, startApp } from '../support/app.js';
import { type Kind, KINDS, limitsIn } from '../support/kinds.js';
import { plainClient, sweep, uniqueNamespace } from '../support/redis.js';

// Failures that users of other limiters met: clocks.

let namespace: string;

beforeEach(() => {
  namespace = uniqueNamespace();
});
afterEach(async () => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  await closeApps();
  const client = plainClient();
  expect(await sweep(client, namespace)).toEqual([]);
  await client.quit();
});

const limitsOf = (kind: Kind): FreqLimitOptions => limitsIn(kind, { namespace });

describe.each(KINDS)('a process’s time of day on %s', (kind) => {
  let offsetMs: number;

  beforeEach(() => {
    offsetMs = 0;
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + offsetMs);
  });

  it('neither prolongs nor ends a window when it is set', async () => {
    const { app } = await startApp('express', { limits: limitsOf(kind) });
    const service = app.get(FreqLimitService);
    const visit = async (window: Window): Promise<boolean> =>
      (await service.consume({ key: 'x', window, limit: 1 })).allowed;
    expect([await visit('1m'), await visit('200ms')]).toEqual([true, true]);
    offsetMs = 3_600_000;
    expect(await visit('1m')).toBe(false);
    offsetMs = -3_600_000;
    // would not end within the test's time, were it an hour late
    while (!(await visit('200ms'))) await sleep(10);
    expect(await visit('1m')).toBe(false);
  });
});

describe('two processes an hour apart', () => {
  it('admit together exactly the limit, and tell the same wait', async () => {
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

describe('a test that moves the clock', () => {
  it('has the answers of the service without moving it, and a new window when it does', async () => {
    const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot()] }).compile();
    await module.init();
    const service = module.get(FreqLimitService);
    jest.useFakeTimers();
    const visit = async (): Promise<boolean> =>
      (await service.consume({ key: 'x', window: '1m', limit: 1 })).allowed;
    expect([await visit(), await visit()]).toEqual([true, false]);
    jest.advanceTimersByTime(59_000);
    expect(await visit()).toBe(false);
    jest.advanceTimersByTime(1_001);
    expect([await visit(), await visit()]).toEqual([true, false]);
    expect(jest.getTimerCount()).toBe(0);
    await module.close();
  });
});
