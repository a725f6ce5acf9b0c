import {
  BadRequestException,
  type CanActivate,
  Controller,
  ForbiddenException,
  Get,
  type MessageEvent,
  Param,
  Res,
  Sse,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { concatMap, from, map, type Observable, throwError } from 'rxjs';
import {
  FreqLimit,
  type FreqLimitOptions,
  type FreqLimitRule,
  type Outcome,
  type RuleChanges,
} from 'nestjs-freq-limit';
import { startApp, statuses } from '../support/app.js';
import { until } from '../support/cluster.js';
import { remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { usedOf } from '../support/used.js';

const suite = redisSuite();
const log = captureLog();

interface Reply {
  status(code: number): { send(text: string): void };
}

const usedIn = ({ result }: Outcome): number => (result as { used: number }).used;
const TOKENS = { name: 'tokens', window: '1d', limit: 1_000, key: 'all', cost: 100 } as const;
const DENIES: CanActivate = {
  canActivate: () => {
    throw new ForbiddenException();
  },
};

/** How counters of each kind are declared. */
const KINDS_OF_COUNTERS: readonly (readonly [string, FreqLimitRule])[] = [
  ['a fixed window', { ...TOKENS, actualCost: usedIn }],
  ['a sliding window', { ...TOKENS, algorithm: 'sliding-window', actualCost: usedIn }],
  ['a token bucket', { ...TOKENS, algorithm: 'token-bucket', actualCost: usedIn }],
  ['a calendar', { ...TOKENS, window: { calendar: 'year' }, actualCost: usedIn }],
  ['a window with a block', { ...TOKENS, blockFor: '2d', actualCost: usedIn }],
];

describe.each(EVERYWHERE)('actualCost on %s in %s', (platform, kind) => {
  const limits = (more: FreqLimitOptions = {}): FreqLimitOptions => ({ ...limitsIn(kind, suite), ...more });

  it.each(KINDS_OF_COUNTERS)('refunds and charges %s, and the headers show it', async (_, rule) => {
    @Controller()
    class Chat {
      @Get('ask/:used')
      @FreqLimit(rule)
      ask(@Param('used') used: string) {
        return { used: Number(used) };
      }
    }
    const { url } = await startApp(platform, { controllers: [Chat], limits: limits() });
    const ask = async (used: number) => {
      const response = await fetch(`${url}/ask/${used}`);
      return [response.status, remaining(response)['tokens']];
    };
    expect(await ask(40)).toEqual([200, 960]);
    expect(await ask(0)).toEqual([200, 960]);
    expect(await ask(100)).toEqual([200, 860]);
    expect(await ask(360)).toEqual([200, 500]);
    // a debt: more than remains
    expect(await ask(2_000)).toEqual([200, 0]);
    expect(await ask(1)).toEqual([429, 0]);
    expect(log.lines).toEqual([]);
  });

  const ways = (actualCost: FreqLimitRule['actualCost'], more: RuleChanges = {}) => {
    @Controller()
    class Ways {
      @Get('ok')
      @FreqLimit({ ...TOKENS, actualCost, ...more } as FreqLimitRule)
      ok() {
        return { used: 40 };
      }
      @Get('fails')
      @FreqLimit({ ...TOKENS, actualCost, ...more } as FreqLimitRule)
      fails() {
        throw new BadRequestException();
      }
      @Get('denied')
      @UseGuards(DENIES)
      @FreqLimit({ ...TOKENS, actualCost, ...more } as FreqLimitRule)
      denied() {
        return { used: 40 };
      }
      @Get('ownStatus')
      @FreqLimit({ ...TOKENS, actualCost, ...more } as FreqLimitRule)
      ownStatus(@Res({ passthrough: true }) response: Reply) {
        response.status(404);
        return { used: 40 };
      }
      @Get('ownAnswer')
      @FreqLimit({ ...TOKENS, actualCost, ...more } as FreqLimitRule)
      ownAnswer(@Res() response: Reply) {
        response.status(200).send('ok');
      }
    }
    return Ways;
  };

  it.each<[string, FreqLimitRule['actualCost'], string]>([
    [
      'throws',
      () => {
        throw new Error('no tokens');
      },
      'failed; the request stays charged 100: no tokens',
    ],
    [
      'rejects',
      () => Promise.reject(new Error('no tokens')),
      'failed; the request stays charged 100: no tokens',
    ],
    [
      'returns a fraction',
      () => 1.5,
      'returned 1.5, which is not a whole number from 0 to 2^53 - 1; the request stays charged 100',
    ],
    [
      'returns nothing',
      () => undefined as never,
      'returned undefined, which is not a whole number from 0 to 2^53 - 1; the request stays charged 100',
    ],
    [
      'returns a negative number',
      () => -5,
      'returned -5, which is not a whole number from 0 to 2^53 - 1; the request stays charged 100',
    ],
  ])('keeps the estimate if the function %s, and logs one line', async (_, actualCost, problem) => {
    const { url } = await startApp(platform, { controllers: [ways(actualCost)], limits: limits() });
    const response = await fetch(`${url}/ok`);
    expect([response.status, remaining(response)]).toEqual([200, { tokens: 900 }]);
    expect(log.lines).toEqual([
      `FREQ_LIMIT_ACTUAL_COST_FAILED: @FreqLimit on Ways.ok, rule "tokens": the actualCost function ${problem}`,
    ]);
  });

  it.each([
    ['fails', 400],
    ['denied', 403],
    ['ownStatus', 404],
  ])('keeps the estimate if the request fails: %s', async (path, status) => {
    let calls = 0;
    const count = (): number => calls++;
    const controller = ways(count);
    const { app, url } = await startApp(platform, { controllers: [controller], limits: limits() });
    const response = await fetch(`${url}/${path}`);
    expect([response.status, remaining(response)['tokens'], calls]).toEqual([status, 900, 0]);
    await sleep(50);
    expect([await usedOf(app, controller, path, 'tokens'), calls]).toEqual([100, 0]);
  });

  it('goes with countWhen: what does not count costs nothing', async () => {
    const controller = ways(() => 40, { countWhen: 'success' });
    const { app, url } = await startApp(platform, { controllers: [controller], limits: limits() });
    expect(remaining(await fetch(`${url}/ok`))).toEqual({ tokens: 960 });
    expect(remaining(await fetch(`${url}/fails`))).toEqual({ tokens: 1_000 });
    expect([await usedOf(app, controller, 'ok', 'tokens')]).toEqual([40]);
    await fetch(`${url}/denied`);
    await until(async () => (await usedOf(app, controller, 'denied', 'tokens')) === 0);
  });

  it('of a request that does not count is not called', async () => {
    const controller = ways(() => 40, { countWhen: 'failure' });
    const { url } = await startApp(platform, { controllers: [controller], limits: limits() });
    expect(remaining(await fetch(`${url}/ok`))).toEqual({ tokens: 1_000 });
    expect(remaining(await fetch(`${url}/fails`))).toEqual({ tokens: 900 });
  });

  it('is called once, with the outcome', async () => {
    const seen: Omit<Outcome, 'context'>[] = [];
    const controller = ways(({ context, ...outcome }) => {
      seen.push(outcome);
      return context.getHandler().name.length;
    });
    const { app, url } = await startApp(platform, { controllers: [controller], limits: limits() });
    expect(remaining(await fetch(`${url}/ok`))).toEqual({ tokens: 998 });
    await fetch(`${url}/ownAnswer`);
    await until(async () => (await usedOf(app, controller, 'ownAnswer', 'tokens')) === 9);
    expect(seen).toEqual([
      { succeeded: true, statusCode: 200, error: undefined, result: { used: 40 } },
      // the handler has sent the response itself
      { succeeded: true, statusCode: 200, error: undefined, result: undefined },
    ]);
  });

  it('applies to shadow rules, rules of the module, and hashed keys', async () => {
    const rule = { ...TOKENS, key: 'client:{ip}', actualCost: usedIn };
    @Controller()
    class Chat {
      @Get()
      @FreqLimit({ ...rule, name: 'tried', shadow: true })
      @FreqLimit({ ...rule, name: 'bucket', shadow: true, algorithm: 'token-bucket' })
      ask() {
        return { used: 40 };
      }
    }
    const seen: number[][] = [];
    const { url } = await startApp(platform, {
      controllers: [Chat],
      limits: limits({
        hashKeys: { secret: 'sixteen characters or more' },
        rules: [rule],
        onVerdict: ({ verdict }) => seen.push(verdict.results.map(({ used }) => used)),
      }),
    });
    expect(remaining(await fetch(url))).toEqual({ tokens: 960 });
    expect(remaining(await fetch(url))).toEqual({ tokens: 920 });
    expect(seen).toEqual([
      [100, 100, 100],
      [140, 140, 140],
    ]);
  });

  it('does not settle denied requests that count', async () => {
    const controller = ways(() => 40, { limit: 150, countDenied: true });
    const { app, url } = await startApp(platform, { controllers: [controller], limits: limits() });
    expect(await statuses(3, () => fetch(`${url}/ok`))).toEqual([200, 200, 429]);
    expect(await usedOf(app, controller, 'ok', 'tokens')).toBe(180);
  });

  it('gets what interceptors of the handler make of the result', async () => {
    @Controller()
    class Mapped {
      @Get()
      @UseInterceptors({
        intercept: (_: unknown, next: { handle(): Observable<number> }) =>
          next.handle().pipe(map((used) => ({ used }))),
      })
      @FreqLimit({ ...TOKENS, actualCost: usedIn })
      get() {
        return 7;
      }
    }
    const { url } = await startApp(platform, { controllers: [Mapped], limits: limits() });
    expect(remaining(await fetch(url))).toEqual({ tokens: 993 });
  });

  it('gets the last value of a stream, when it has ended', async () => {
    const slowly = (values: readonly number[]) =>
      from(values).pipe(
        concatMap(async (used) => {
          await sleep(10);
          return { used, data: String(used) };
        }),
      );
    @Controller()
    class Streams {
      @Get('values')
      @FreqLimit({ ...TOKENS, actualCost: usedIn })
      values() {
        return slowly([5, 6, 7]);
      }
      @Sse('events')
      @FreqLimit({ ...TOKENS, actualCost: usedIn })
      events(): Observable<MessageEvent> {
        return slowly([5, 6, 8]);
      }
      @Get('breaks')
      @FreqLimit({ ...TOKENS, actualCost: usedIn })
      breaks() {
        return from([{ used: 1 }, undefined]).pipe(
          concatMap((value) => (value === undefined ? throwError(() => new Error('broken')) : [value])),
        );
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Streams], limits: limits() });
    expect(remaining(await fetch(`${url}/values`))).toEqual({ tokens: 993 });
    const events = await fetch(`${url}/events`);
    expect(await events.text()).toContain('data: 8');
    await until(async () => (await usedOf(app, Streams, 'events', 'tokens')) === 8);
    expect((await fetch(`${url}/breaks`)).status).toBe(500);
    expect(await usedOf(app, Streams, 'breaks', 'tokens')).toBe(100);
  });
});
