import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type NestInterceptor,
  Param,
  Post,
  Scope,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { ReportsController } from '../../examples/http/observing.js';
import {
  FreqLimit,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitVerdict,
  SkipFreqLimit,
  type Verdict,
} from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const minute = { window: '1m', limit: 2, name: 'minute' } as const;

describe.each(PLATFORMS)('@FreqLimitVerdict() on %s', (platform) => {
  const seen: Verdict[] = [];
  beforeEach(() => {
    seen.length = 0;
  });

  @Controller()
  class Shown {
    @Get('limited')
    @FreqLimit(minute)
    limited(@FreqLimitVerdict() verdict: Verdict) {
      seen.push(verdict);
      return 'ok';
    }
    @Get('free')
    @SkipFreqLimit()
    free(@FreqLimitVerdict() verdict: Verdict) {
      return { ...verdict, hasTightest: verdict.tightest !== undefined };
    }
    @Get('twice/:n')
    @FreqLimit(minute)
    twice(@FreqLimitVerdict() one: Verdict, @Param('n') n: string, @FreqLimitVerdict() two: Verdict) {
      return { same: one === two, n };
    }
    @Get('given-back')
    @FreqLimit({ ...minute, countWhen: 'failure' })
    givenBack(@FreqLimitVerdict() { tightest }: Verdict) {
      return { used: tightest?.used };
    }
  }

  it.each(['memory', 'redis'])('is the verdict that allowed the request, %s', async (kind) => {
    const limits = kind === 'redis' ? inRedis() : {};
    const { url } = await startApp(platform, { controllers: [Shown], limits });
    expect(await statuses(3, () => fetch(`${url}/limited`))).toEqual([200, 200, 429]);
    expect(seen.map(({ tightest, ...verdict }) => [verdict, tightest?.remaining])).toEqual([
      [{ allowed: true, results: [expect.anything()], source: 'store' }, 1],
      [{ allowed: true, results: [expect.anything()], source: 'store' }, 0],
    ]);
    expect(seen[1]!.tightest).toEqual({
      ...{ name: 'minute', allowed: true, limit: 2, windowMs: 60_000, cost: 1 },
      ...{ used: 2, remaining: 0, resetAfterMs: expect.any(Number), retryAfterMs: 0, source: 'store' },
    });
  });

  it('is empty if no rule applies or no guard runs', async () => {
    const none = { allowed: true, results: [], source: 'none', hasTightest: false };
    const ruled = await startApp(platform, {
      controllers: [Shown],
      limits: { rules: [{ ...minute, name: 'all' }] },
    });
    expect(await (await fetch(`${ruled.url}/free`)).json()).toEqual(none);
    const { url } = await startApp(platform, { controllers: [Shown] }, (builder) =>
      builder.overrideGuard(FreqLimitGuard).useValue({ canActivate: () => true }),
    );
    expect(await statuses(3, () => fetch(`${url}/limited`))).toEqual([200, 200, 200]);
    expect(seen.map(({ source }) => source)).toEqual(['none', 'none', 'none']);
  });

  it('can be used several times, and includes charges that are refunded later', async () => {
    const { url } = await startApp(platform, { controllers: [Shown] });
    expect(await (await fetch(`${url}/twice/7`)).json()).toEqual({ same: true, n: '7' });
    const response = await fetch(`${url}/given-back`);
    expect([await response.json(), remaining(response)]).toEqual([{ used: 1 }, { minute: 2 }]);
  });

  it('is separate for each request in flight', async () => {
    @Controller({ scope: Scope.REQUEST })
    class Many {
      @Get(':client')
      @FreqLimit({ window: '1m', limit: 50, key: '{params.client}', name: 'client' })
      async get(@Param('client') client: string, @FreqLimitVerdict() { tightest }: Verdict) {
        return { client, used: tightest?.used };
      }
    }
    const { url } = await startApp(platform, { controllers: [Many], limits: inRedis() });
    const requests = Array.from({ length: 60 }, async (_, i) => (await fetch(`${url}/c${i % 3}`)).json());
    const answers = (await Promise.all(requests)) as { client: string; used: number }[];
    for (const client of ['c0', 'c1', 'c2']) {
      const used = answers.filter((answer) => answer.client === client).map((answer) => answer.used);
      expect(used.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    }
  });

  it('works in a subclass, and after guards and interceptors that use the request', async () => {
    @Injectable()
    class Passes implements CanActivate {
      canActivate() {
        return true;
      }
    }
    const passes: NestInterceptor = {
      intercept: (_: ExecutionContext, next: CallHandler) => next.handle() as Observable<unknown>,
    };
    class Base {
      @Post()
      @UseGuards(Passes)
      @UseInterceptors(passes)
      post(@FreqLimitVerdict() { results }: Verdict) {
        return results.map(({ name, used }) => [name, used]);
      }
    }
    @Controller()
    @FreqLimit({ ...minute, name: 'sub' })
    class Sub extends Base {}
    const { url } = await startApp(platform, { controllers: [Sub] });
    expect(await (await fetch(url, { method: 'POST' })).json()).toEqual([['sub', 1]]);
  });

  it('shows clients of the example their remaining requests', async () => {
    const { url } = await startApp(platform, { controllers: [ReportsController] });
    const headers = { 'x-api-key': 'k1' };
    await fetch(`${url}/reports`, { headers });
    const response = await fetch(`${url}/reports`, { headers });
    expect(await response.json()).toEqual({ reports: [], left: 18 });
  });
});

it('is allowed only on parameters of handlers', () => {
  const place = (): unknown => {
    class Wrong {
      constructor(@FreqLimitVerdict() readonly verdict: Verdict) {}
    }
    return Wrong;
  };
  expect(place).toThrow('@FreqLimitVerdict on Wrong: a constructor gets no requests');
  expect(place).toThrow(expect.objectContaining({ code: 'FREQ_LIMIT_INVALID_RULE' }));
});

describe.each(EVERYWHERE)('verdicts of several handlers on %s and %s', (platform, kind) => {
  it('keep the numbers of their own handler', async () => {
    const rule = (name: string, limit: number) => ({ window: '1h', limit, name, cost: 0 }) as const;
    const shown = ({ results }: Verdict): string =>
      results.map(({ name, limit }) => `${name} ${limit}`).join();
    @Controller()
    @FreqLimit(rule('x', 5))
    @FreqLimit(rule('y', 9))
    class Mixed {
      @Get('own')
      @FreqLimit(rule('x', 2))
      own(@FreqLimitVerdict() verdict: Verdict) {
        return shown(verdict);
      }
      @Get('none')
      none(@FreqLimitVerdict() verdict: Verdict) {
        return shown(verdict);
      }
    }
    const limits = { ...limitsIn(kind, suite), rules: [rule('global', 7)] };
    const { url } = await startApp(platform, { controllers: [Mixed], limits });
    const seen = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const path = i % 3 === 0 ? 'own' : 'none';
        return `${path}: ${await (await fetch(`${url}/${path}`)).text()}`;
      }),
    );
    expect([...new Set(seen)].sort()).toEqual(['none: global 7,x 5,y 9', 'own: global 7,x 2,y 9']);
  });
});
