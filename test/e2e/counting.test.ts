import { Controller, Get, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  FreqLimitService,
  FreqLimitVerdict,
  type Verdict,
} from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders, post, remaining } from '../support/http.js';
import { EVERYWHERE, type Kind, KINDS, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

// a long time limit, since a burst on a busy machine is not the subject here
const limitsOf = (kind: Kind): FreqLimitOptions => limitsIn(kind, suite, 20_000);

async function startService(limits: FreqLimitOptions) {
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
  await module.init();
  return { service: module.get(FreqLimitService), close: () => module.close() };
}

describe.each<[(typeof KINDS)[number], number]>([
  ['memory', 20_000],
  // calls of one turn are separate until they are coalesced
  ['redis', 2_000],
])('a burst in one turn on %s', (kind, requests) => {
  it('allows exactly the limit of each key', async () => {
    const { service, close } = await startService(limitsOf(kind));
    const verdicts = await Promise.all(
      Array.from({ length: requests }, (_, i) =>
        service.consume({ key: i % (requests / 5), window: '1m', limit: 3 }),
      ),
    );
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength((requests / 5) * 3);
    await close();
  });

  it('decides as many checks in one call as a call may have, equal keys in turn', async () => {
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
  it('allow five of a thousand requests, and charge no other counter for the denied ones', async () => {
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

describe.each(EVERYWHERE)(
  'a limit per day, after denials by the limit per minute, on %s and %s',
  (platform, kind) => {
    it.each([
      [false, 1],
      [true, 6],
    ])('with countDenied %s has used %i', async (countDenied, used) => {
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
  },
);

describe.each(KINDS)('a request with a cost of 0 on %s', (kind) => {
  it('reads the count and creates no counter', async () => {
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

describe.each(EVERYWHERE)('a limit on %s and %s', (platform, kind) => {
  it('can be raised, and allows clients that it denied before', async () => {
    let limit = 3;
    @Controller()
    class Plan {
      @Get()
      @FreqLimit({ window: '1m', limit: () => limit, name: 'plan' })
      get() {
        return 'ok';
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Plan], limits: limitsOf(kind) });
    expect(await statuses(8, () => fetch(url))).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    limit = 10;
    const raised = await fetch(url);
    expect([raised.status, remaining(raised)]).toEqual([200, { plan: 6 }]);
    limit = 3;
    expect(await statuses(1, () => fetch(url))).toEqual([429]);
    const check = { controller: Plan, handler: 'get', rule: 'plan', key: '127.0.0.1', limit };
    expect((await app.get(FreqLimitService).peek(check)).tightest!.used).toBe(4);
  });

  it('is exact at its largest value', async () => {
    const left: unknown[] = [];
    @Controller()
    class Most {
      @Get()
      @FreqLimit({ window: '1m', limit: Number.MAX_SAFE_INTEGER, name: 'most' })
      get(@FreqLimitVerdict() { tightest }: Verdict) {
        left.push(tightest!.remaining);
        return 'ok';
      }
    }
    const limits: FreqLimitOptions = { ...limitsOf(kind), headers: 'both' };
    const { url } = await startApp(platform, { controllers: [Most], limits });
    await statuses(2, () => fetch(url));
    expect(limitHeaders(await fetch(url))).toMatchObject({
      ratelimit: '"most";a=999999999999999;w=60',
      'x-ratelimit-remaining': '9007199254740988',
    });
    expect(left).toEqual([9_007_199_254_740_990, 9_007_199_254_740_989, 9_007_199_254_740_988]);
  });
});

describe.each(PLATFORMS)('rules on %s', (platform) => {
  const get = async (url: string): Promise<Record<string, number>> => remaining(await fetch(url));

  it('have a counter for each window of one key', async () => {
    @Controller()
    class Windows {
      @Get()
      @FreqLimit('1m', 5, '{ip}')
      @FreqLimit('1d', 50, '{ip}')
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Windows] });
    expect(await statuses(6, () => fetch(url))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await get(url)).toEqual({ '1m': 0, '1d': 45 });
  });

  it('take the window, limit, cost and skipIf from functions of the request', async () => {
    const query =
      (name: string) => (context: { switchToHttp(): { getRequest(): { query: Record<string, string> } } }) =>
        context.switchToHttp().getRequest().query[name];
    @Controller()
    class Dynamic {
      @Get()
      @FreqLimit({
        name: 'dynamic',
        window: async (context) => (query('window')(context) ?? '1m') as '1m',
        limit: async (context) => Number(query('limit')(context) ?? 3),
        cost: (context) => Number(query('cost')(context) ?? 1),
        skipIf: (context) => query('skip')(context) === 'yes',
      })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Dynamic] });
    expect(await get(`${url}?cost=2`)).toEqual({ dynamic: 1 });
    expect(await get(`${url}?skip=yes`)).toEqual({});
    expect(await statuses(1, () => fetch(`${url}?cost=2`))).toEqual([429]);
    // a raised limit keeps its counter, a changed window has its own
    expect(await get(`${url}?limit=10`)).toEqual({ dynamic: 7 });
    expect(await get(`${url}?window=2m`)).toEqual({ dynamic: 2 });
    expect(await statuses(1, () => fetch(url))).toEqual([429]);
  });
});
