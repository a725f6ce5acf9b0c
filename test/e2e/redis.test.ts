import { Controller, Get, Post } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { FreqLimit, FreqLimitService } from '../../src/index.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';
import { keysOf, plainClient, redisUrl, sweep, uniqueNamespace } from '../support/redis.js';

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

describe.each(PLATFORMS)('limits in Redis on %s', (platform) => {
  let client: Redis;
  let namespace: string;
  const start = (extra: object = {}) =>
    startApp(platform, {
      controllers: [SmsController],
      limits: { redis: redisUrl(), namespace, timeoutMs: 5_000, ...extra },
    });

  beforeAll(() => {
    client = plainClient();
  });
  beforeEach(() => {
    namespace = uniqueNamespace();
  });
  afterEach(async () => {
    await closeApps();
    expect(await sweep(client, namespace)).toEqual([]);
  });
  afterAll(() => client.quit());

  it('cost a request with five decorators and one of its class exactly one command', async () => {
    const { url } = await start();
    const send = (): Promise<Response> => post(`${url}/sms/code`, { phone: '138' }, { 'x-api-key': 'k' });
    await send();
    const watcher = plainClient();
    await watcher.ping();
    const monitor = await watcher.monitor();
    const seen: string[][] = [];
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source !== 'lua' && args.some((arg) => arg.startsWith(`${namespace}:`))) seen.push(args);
    });
    const response = await send();
    expect(response.status).toBe(201);
    expect(Object.keys(remaining(response))).toHaveLength(6);
    // a second command of the first request would come before the one of this request
    await post(`${url}/sms/code`, { phone: '139' });
    await client.get(`${namespace}:end`);
    while (!seen.some((args) => args[0]?.toLowerCase() === 'get'))
      await new Promise((resolve) => setTimeout(resolve, 5));
    monitor.disconnect();
    watcher.disconnect();
    const commands = seen.filter((args) => args[0]?.toLowerCase() !== 'get');
    expect(commands.map(([name]) => name?.toLowerCase())).toEqual(['evalsha', 'evalsha']);
    const [, , numkeys, ...rest] = commands[0]!;
    // every key is declared, and what is declared as a key is a counter
    expect(Number(numkeys)).toBe(6);
    expect(rest.slice(0, 6).every((key) => key.startsWith(`${namespace}:`))).toBe(true);
    expect(rest.slice(6).some((arg) => arg.startsWith(`${namespace}:`))).toBe(false);
  });

  it('hold for all processes together, whatever their clocks say', async () => {
    const [a, b] = [await start(), await start()];
    const codes = [];
    for (let i = 0; i < 4; i++)
      codes.push((await post(`${(i % 2 === 0 ? a : b).url}/sms/code`, { phone: '1' })).status);
    expect(codes).toEqual([201, 201, 201, 429]);
  });

  it('admit exactly the limit of many requests at once', async () => {
    const [a, b] = [await start(), await start()];
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) => post(`${(i % 2 === 0 ? a : b).url}/sms/code`, { phone: 'many' })),
    );
    expect(all.filter(({ status }) => status === 201)).toHaveLength(3);
    const daily = (await keysOf(client, namespace)).find((key) => key.includes(':86400000:'))!;
    expect(await client.get(daily)).toBe('3');
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

  it('lose and double no visit when the server forgets the script', async () => {
    const { url } = await start();
    const flusher = { stopped: false };
    const flushing = (async () => {
      while (!flusher.stopped) {
        await client.script('FLUSH');
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
    const minute = (await keysOf(client, namespace)).filter((key) => key.includes(':60000:'));
    expect((await client.mget(minute)).sort()).toEqual(['3', '3']);
  });

  it.each([999, 2])('mend a counter of %i that somebody left without an end', async (value) => {
    // what this process remembers of a counter it would mend a second later
    const { url } = await start({ denyCache: false });
    await fetch(`${url}/sms/ten`);
    const key = (await keysOf(client, namespace)).find((one) => one.includes(':10000:'))!;
    await client.set(key, value);
    const ask = (): Promise<Response> => fetch(`${url}/sms/ten`);
    expect(await statuses(2, ask)).toEqual(value === 2 ? [200, 429] : [429, 429]);
    const left = await client.pttl(key);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(10_000);
    const wait = Number((await ask()).headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(10);
    await client.persist(key);
    expect((await ask()).status).toBe(429);
    expect(await client.pttl(key)).toBeGreaterThan(0);
  });

  it('need no more rights than the documented ones', async () => {
    const user = namespace.replace('-', '');
    const rights =
      `~${namespace}:* -@all +evalsha +eval +incr +incrby +decrby +pttl +pexpire +pexpiretime +time +get +set +del +info`.split(
        ' ',
      );
    await client.acl('SETUSER', user, 'on', '>secret', 'resetkeys', ...rights);
    const url = new URL(redisUrl());
    url.username = user;
    url.password = 'secret';
    const { app } = await start({ redis: url.href });
    const service = app.get(FreqLimitService);
    const check = { key: 'x', window: '1m', limit: 1 } as const;
    expect((await service.consume(check)).allowed).toBe(true);
    expect((await service.consume([check, { ...check, key: 'y' }])).allowed).toBe(false);
    await service.reset(check);
    expect((await service.peek(check)).allowed).toBe(true);
    await closeApps();
    await client.acl('DELUSER', user);
  });

  it('leave no counter without an end where the right to set one is missing', async () => {
    const user = namespace.replace('-', '');
    const rights = `~${namespace}:* -@all +evalsha +eval +incr +incrby +decrby +pttl +get +set +del +info`;
    await client.acl('SETUSER', user, 'on', '>secret', 'resetkeys', ...rights.split(' '));
    const url = new URL(redisUrl());
    url.username = user;
    url.password = 'secret';
    const { app } = await start({ redis: url.href });
    const service = app.get(FreqLimitService);
    for (let i = 0; i < 5; i++) {
      expect((await service.consume({ key: `k${i}`, window: '1m', limit: 1 })).source).toBe('memory');
    }
    expect(await keysOf(client, namespace)).toEqual([]);
    await closeApps();
    await client.acl('DELUSER', user);
  });

  it('answer 503, never a pass, where a key holds no counter', async () => {
    const { url } = await start({ onStoreError: 'deny' });
    await fetch(`${url}/sms/ten`);
    const key = (await keysOf(client, namespace)).find((one) => one.includes(':10000:'))!;
    await client.del(key);
    await client.lpush(key, 'x');
    const response = await fetch(`${url}/sms/ten`);
    expect(response.status).toBe(503);
    expect(response.headers.has('ratelimit')).toBe(false);
    expect(await response.text()).not.toMatch(/undefined|NaN|WRONGTYPE/);
    await client.del(key);
    expect((await fetch(`${url}/sms/ten`)).status).toBe(200);
  });
});
