import { Controller, Get, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { watchCommands } from '../support/monitor.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, plainClient, redisUrl } from '../support/redis.js';

const suite = redisSuite();

@Controller('sms')
@FreqLimit('1m', 600, '{ip}')
class SmsController {
  @Post('code')
  @FreqLimit('1m', 3, 'phone:{body.phone}')
  @FreqLimit({ window: '1d', limit: 10, key: 'phone:{body.phone}', name: 'daily' })
  @FreqLimit({ window: '1h', limit: () => 50, key: () => Promise.resolve('tenant') })
  @FreqLimit('10s', 100, '{headers.x-api-key}')
  @FreqLimit('30s', 1_000, 'everybody')
  send() {
    return 'ok';
  }
  @Get('ten')
  @FreqLimit('10s', 3, '{ip}')
  ten() {
    return 'ok';
  }
}

async function startService(limits: FreqLimitOptions) {
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
  await module.init();
  return { service: module.get(FreqLimitService), close: () => module.close() };
}

describe.each(PLATFORMS)('limits in Redis on %s', (platform) => {
  const start = (extra: object = {}) =>
    startApp(platform, {
      controllers: [SmsController],
      limits: { ...limitsIn('redis', suite), ...extra },
    });

  it('cost exactly one command for five decorators of a handler and one of its class', async () => {
    const { url } = await start();
    const send = (): Promise<Response> => post(`${url}/sms/code`, { phone: '138' }, { 'x-api-key': 'k' });
    await send();
    const seen: string[][] = [];
    const stop = await watchCommands(redisUrl(), ({ args, isFromScript }) => {
      if (!isFromScript && args.some((arg) => arg.startsWith(`${suite.namespace}:`))) seen.push(args);
    });
    const response = await send();
    expect(response.status).toBe(201);
    expect(Object.keys(remaining(response))).toHaveLength(6);
    // a second command of the first request would come before the command of this request
    await post(`${url}/sms/code`, { phone: '139' });
    await suite.client.get(`${suite.namespace}:end`);
    while (!seen.some((args) => args[0]?.toLowerCase() === 'get'))
      await new Promise((resolve) => setTimeout(resolve, 5));
    stop();
    const commands = seen.filter((args) => args[0]?.toLowerCase() !== 'get');
    expect(commands.map(([name]) => name?.toLowerCase())).toEqual(['evalsha', 'evalsha']);
    const [, , numkeys, ...rest] = commands[0]!;
    // every key is declared, and every declared key is a counter
    expect(Number(numkeys)).toBe(6);
    expect(rest.slice(0, 6).every((key) => key.startsWith(`${suite.namespace}:`))).toBe(true);
    expect(rest.slice(6).some((arg) => arg.startsWith(`${suite.namespace}:`))).toBe(false);
  });

  it('apply to all processes together, whatever their clocks are', async () => {
    const [a, b] = [await start(), await start()];
    const codes = [];
    for (let i = 0; i < 4; i++)
      codes.push((await post(`${(i % 2 === 0 ? a : b).url}/sms/code`, { phone: '1' })).status);
    expect(codes).toEqual([201, 201, 201, 429]);
  });

  it('allow exactly the limit of many requests at once', async () => {
    const [a, b] = [await start(), await start()];
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) => post(`${(i % 2 === 0 ? a : b).url}/sms/code`, { phone: 'many' })),
    );
    expect(all.filter(({ status }) => status === 201)).toHaveLength(3);
    const daily = (await keysOf(suite.client, suite.namespace)).find((key) => key.includes(':86400000:'))!;
    expect(await suite.client.get(daily)).toBe('3');
  });

  it.each(['memory', 'Redis'])('give the same answers from %s', async (store) => {
    const { url } = await start(store === 'memory' ? { redis: undefined } : {});
    const seen = [];
    for (let i = 0; i < 5; i++) {
      const response = await post(`${url}/sms/code`, { phone: '138' }, { 'x-api-key': 'k' });
      seen.push([response.status, ...Object.values(remaining(response))]);
    }
    expect(seen).toEqual([
      [201, 599, 2, 9, 49, 99, 999],
      [201, 598, 1, 8, 48, 98, 998],
      [201, 597, 0, 7, 47, 97, 997],
      [429, 597, 0, 7, 47, 97, 997],
      [429, 597, 0, 7, 47, 97, 997],
    ]);
  });

  it('count each request once when the server forgets the script', async () => {
    const { url } = await start();
    const flusher = { stopped: false };
    const flushing = (async () => {
      while (!flusher.stopped) {
        await suite.client.script('FLUSH');
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
    })();
    const codes = (
      await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          statuses(10, () => post(`${url}/sms/code`, { phone: 'flush' }, { 'x-api-key': `k${i}` })),
        ),
      )
    ).flat();
    flusher.stopped = true;
    await flushing;
    expect(codes.filter((code) => code === 201)).toHaveLength(3);
    expect(codes.filter((code) => code === 429)).toHaveLength(97);
    const minute = (await keysOf(suite.client, suite.namespace)).filter((key) => key.includes(':60000:'));
    expect((await suite.client.mget(minute)).sort()).toEqual(['3', '3']);
  });

  it.each([999, 2])('repair a counter of %i without an expiry', async (value) => {
    // the process would repair a counter that it remembers a second later
    const { url } = await start({ denyCache: false });
    await fetch(`${url}/sms/ten`);
    const key = (await keysOf(suite.client, suite.namespace)).find((one) => one.includes(':10000:'))!;
    await suite.client.set(key, value);
    const send = (): Promise<Response> => fetch(`${url}/sms/ten`);
    expect(await statuses(2, send)).toEqual(value === 2 ? [200, 429] : [429, 429]);
    const left = await suite.client.pttl(key);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(10_000);
    const wait = Number((await send()).headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(10);
    await suite.client.persist(key);
    expect((await send()).status).toBe(429);
    expect(await suite.client.pttl(key)).toBeGreaterThan(0);
  });

  it('answer 503 if a key is not a counter', async () => {
    const { url } = await start({ onStoreError: 'deny' });
    await fetch(`${url}/sms/ten`);
    const key = (await keysOf(suite.client, suite.namespace)).find((one) => one.includes(':10000:'))!;
    await suite.client.del(key);
    await suite.client.lpush(key, 'x');
    const response = await fetch(`${url}/sms/ten`);
    expect(response.status).toBe(503);
    expect(response.headers.has('ratelimit')).toBe(false);
    expect(await response.text()).not.toMatch(/undefined|NaN|WRONGTYPE/);
    await suite.client.del(key);
    expect((await fetch(`${url}/sms/ten`)).status).toBe(200);
  });
});

describe('a counter without an expiry', () => {
  it.each([true, false])('expires after one window, countDenied %s', async (countDenied) => {
    @Controller()
    class Three {
      @Get()
      @FreqLimit({ window: '1s', limit: 3, name: 'one', countDenied })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp('express', { controllers: [Three], limits: limitsIn('redis', suite) });
    await fetch(url);
    const [key] = await keysOf(suite.client, suite.namespace);
    await suite.client.set(key!, 999);
    expect(await statuses(1, () => fetch(url))).toEqual([429]);
    const left = await suite.client.pttl(key!);
    expect(left === -2 || (left >= 0 && left <= 1_000)).toBe(true);
    let answer = await fetch(url);
    while (answer.status === 429) {
      await sleep(20);
      answer = await fetch(url);
    }
    expect(remaining(answer)).toEqual({ one: 2 });
  });
});

describe.each(PLATFORMS)('a counter below zero on %s', (platform) => {
  it('allows no extra requests', async () => {
    @Controller()
    class Three {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'three' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Three], limits: limitsIn('redis', suite) });
    await fetch(url);
    const [key] = await keysOf(suite.client, suite.namespace);
    await suite.client.set(key!, -5, 'PX', 30_000);
    const seen = [];
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(url);
      seen.push([answer.status, remaining(answer)['three']]);
    }
    expect(seen).toEqual([
      [200, 2],
      [200, 1],
      [200, 0],
      [429, 0],
      [429, 0],
    ]);
  });
});

describe('a server that drops scripts', () => {
  it('counts each request once after 600 other scripts', async () => {
    const { service, close } = await startService(limitsIn('redis', suite));
    const check = { key: 'x', window: '1m', limit: 3 } as const;
    await service.consume(check);
    await Promise.all(Array.from({ length: 600 }, (_, i) => suite.client.eval(`return ${i}`, 0)));
    expect((await service.consume(check)).tightest!.used).toBe(2);
    await suite.client.script('FLUSH');
    expect((await service.consume(check)).tightest!.used).toBe(3);
    expect((await service.consume(check)).allowed).toBe(false);
    await close();
  });
});

describe('two modules on one client', () => {
  it('share neither options nor counters', async () => {
    const redis = plainClient();
    const [plain, counting] = await Promise.all([
      startService({ redis, namespace: `${suite.namespace}:a` }),
      startService({ redis, namespace: `${suite.namespace}:b`, countDenied: true }),
    ]);
    const check = { key: 'x', window: '1m', limit: 1 } as const;
    for (const allowed of [true, false, false]) {
      expect((await plain.service.consume(check)).allowed).toBe(allowed);
      expect((await counting.service.consume(check)).allowed).toBe(allowed);
    }
    expect((await plain.service.peek(check)).tightest!.used).toBe(1);
    expect((await counting.service.peek(check)).tightest!.used).toBe(3);
    await Promise.all([plain.close(), counting.close()]);
    await redis.quit();
  });
});
