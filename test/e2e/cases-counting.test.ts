import { Controller, Get, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
  type Verdict,
} from '../../src/index.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post, remaining } from '../support/http.js';
import { EVERYWHERE, type Kind, KINDS, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, plainClient, redisUrl } from '../support/redis.js';

// Failures that users of other limiters met: the batch and its arithmetic.

const suite = redisSuite();

// a burst on a busy machine is not what is tried here, so the time limit is generous
const limitsOf = (kind: Kind): FreqLimitOptions => limitsIn(kind, suite, 20_000);

async function startService(limits: FreqLimitOptions) {
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
  await module.init();
  return { service: module.get(FreqLimitService), close: () => module.close() };
}

describe.each(PLATFORMS)('a counter below zero on %s', (platform) => {
  it('grants nothing beyond the limit', async () => {
    @Controller()
    class Three {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'three' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Three], limits: limitsOf('redis') });
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

describe.each<[(typeof KINDS)[number], number]>([
  ['memory', 20_000],
  // calls of one turn travel each on its own until they are coalesced
  ['redis', 2_000],
])('a burst in one turn on %s', (kind, visits) => {
  it('passes exactly the limit of each key', async () => {
    const { service, close } = await startService(limitsOf(kind));
    const verdicts = await Promise.all(
      Array.from({ length: visits }, (_, i) =>
        service.consume({ key: i % (visits / 5), window: '1m', limit: 3 }),
      ),
    );
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength((visits / 5) * 3);
    await close();
  });

  it('passes in one call what a call may hold, equal keys in turn', async () => {
    const { service, close } = await startService(limitsOf(kind));
    const checks = Array.from({ length: 1_000 }, (_, i) => ({
      key: i % 200,
      window: '1m' as const,
      limit: 5,
    }));
    expect((await service.consume(checks)).allowed).toBe(true);
    expect((await service.consume(checks)).allowed).toBe(false);
    const { results } = await service.peek(checks);
    expect(new Set(results.map(({ used }) => used))).toEqual(new Set([5]));
    await close();
  });
});

describe('four processes at once', () => {
  it('admit five of a thousand visits, and charge no neighbour for the others', async () => {
    const four = await Promise.all([1, 2, 3, 4].map(() => startService(limitsOf('redis'))));
    const checks = [5, 1_000, 900, 800, 700].map((limit, i) => ({
      key: `rule${i}`,
      window: '1m' as const,
      limit,
    }));
    const verdicts = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => four[i % 4]!.service.consume(checks)),
    );
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(5);
    const { results } = await four[0]!.service.peek(checks);
    expect(results.map(({ used }) => used)).toEqual([5, 5, 5, 5, 5]);
    await Promise.all(four.map(({ close }) => close()));
  });
});

describe.each(EVERYWHERE)('a refused minute and its day on %s and %s', (platform, kind) => {
  it.each([
    [false, 1],
    [true, 6],
  ])('with countDenied %s on the day, leave %i used', async (countDenied, used) => {
    @Controller()
    class Sms {
      @Post()
      @FreqLimit({ window: '1m', limit: 1, key: '{body.phone}', name: 'minute' })
      @FreqLimit({ window: '1d', limit: 10, key: '{body.phone}', name: 'day', countDenied })
      send() {
        return 'ok';
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Sms], limits: limitsOf(kind) });
    expect(await statuses(6, () => post(url, { phone: 138 }))).toEqual([201, 429, 429, 429, 429, 429]);
    const day = { rule: 'day', controller: Sms, handler: 'send', key: 138 };
    expect((await app.get(FreqLimitService).peek(day)).tightest!.used).toBe(used);
  });
});

describe.each(KINDS)('a visit of no cost on %s', (kind) => {
  it('looks, and makes no counter', async () => {
    const { service, close } = await startService(limitsOf(kind));
    const look = (cost: number): Promise<Verdict> =>
      service.consume({ key: 'x', window: '1m', limit: 1, cost });
    for (const cost of [0, 0])
      expect((await look(cost)).tightest).toMatchObject({ allowed: true, used: 0, resetAfterMs: 0 });
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    await look(1);
    expect((await look(0)).tightest).toMatchObject({ allowed: true, used: 1, remaining: 0 });
    await close();
  });
});

describe('a reset', () => {
  it('lets the caller in on every process, through clients with a prefix too', async () => {
    @Controller()
    class Login {
      @Post()
      @FreqLimit({ window: '1m', limit: 1, key: 'user:{body.user}', name: 'user' })
      login() {
        return 'ok';
      }
    }
    const clients = [1, 2].map(() => new Redis(redisUrl(), { keyPrefix: `${suite.namespace}:` }));
    const [one, two] = await Promise.all(
      clients.map((redis) => startApp('express', { controllers: [Login], limits: { redis } })),
    );
    const login = (): Promise<Response> => post(one!.url, { user: 'ann' });
    expect(await statuses(2, login)).toEqual([201, 429]);
    const counter = { rule: 'user', controller: Login, handler: 'login', key: 'ann' };
    await two!.app.get(FreqLimitService).reset(counter);
    // what the other process remembers it believes for a second
    while ((await login()).status !== 201) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await statuses(1, login)).toEqual([429]);
    await one!.app.get(FreqLimitService).reset(counter);
    expect(await statuses(2, login)).toEqual([201, 429]);
    await closeApps();
    await Promise.all(clients.map((redis) => redis.quit()));
  });
});

describe('a server that drops scripts', () => {
  it('counts each visit once after 600 other scripts', async () => {
    const { service, close } = await startService(limitsOf('redis'));
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
  it('use neither each other’s options nor counters', async () => {
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
