import {
  type CanActivate,
  Controller,
  ForbiddenException,
  Get,
  HttpCode,
  Scope,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { LoginController } from '../../examples/http/login.controller.js';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { type CountWhen, FreqLimit, type FreqLimitOptions, type Outcome } from 'nestjs-freq-limit';
import type { Store } from '../../src/core/store.js';
import { startApp, statuses, type TestApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { limitHeaders, post, remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const { lines } = captureLog();

const THROWS: CanActivate = {
  canActivate: () => {
    throw new UnauthorizedException();
  },
};

describe.each(EVERYWHERE)('countWhen on %s, %s', (platform, kind) => {
  const start = (controllers: Type[], more: FreqLimitOptions = {}): Promise<TestApp> =>
    startApp(platform, { controllers, limits: { ...limitsIn(kind, suite), ...more } });

  it('refunds several rules of a request in one call of the store', async () => {
    @Controller()
    class Several {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'minute', countWhen: 'failure' })
      @FreqLimit({ window: '1h', limit: 9, name: 'hour', countWhen: 'failure' })
      @FreqLimit({ window: '1d', limit: 50, name: 'day' })
      get() {
        return 'ok';
      }
    }
    const { app, url } = await start([Several]);
    const settle = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'settle');
    expect(remaining(await fetch(url))).toEqual({ minute: 3, hour: 9, day: 49 });
    expect(await statuses(5, () => fetch(url))).toEqual([200, 200, 200, 200, 200]);
    expect(settle.mock.calls.map(([checks]) => checks.map(({ name }) => name))).toEqual(
      Array.from({ length: 6 }, () => ['minute', 'hour']),
    );
  });

  it('never has more requests in flight than the limit', async () => {
    let [running, most] = [0, 0];
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    @Controller()
    class Slow {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'slow', countWhen: 'failure' })
      async get() {
        most = Math.max(most, ++running);
        await released;
        running--;
        return 'ok';
      }
    }
    const { url } = await start([Slow]);
    const codes: number[] = [];
    const requests = Array.from({ length: 20 }, async () => codes.push((await fetch(url)).status));
    await until(() => codes.length === 17);
    release();
    await Promise.all(requests);
    expect(codes).toEqual([...Array<number>(17).fill(429), 200, 200, 200]);
    expect([most, running]).toEqual([3, 0]);
    // everything is refunded, also if the deny cache has just seen a full counter
    expect(await statuses(4, () => fetch(url))).toEqual([200, 200, 200, 200]);
    expect(lines).toEqual([]);
  });

  it('refunds only in the window that was charged', async () => {
    const rule = { window: '0.6s', limit: 3, key: 'all', scope: 'controller', name: 'short' } as const;
    let begun = 0;
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    @Controller()
    class Short {
      @Get('slow')
      @FreqLimit({ ...rule, countWhen: 'failure' })
      async slow() {
        begun++;
        await released;
        return 'ok';
      }
      @Get('thrown')
      @FreqLimit({ ...rule, countWhen: 'failure' })
      thrown() {
        throw new UnauthorizedException();
      }
    }
    const { url } = await start([Short]);
    const requests = Array.from({ length: 5 }, () => statuses(1, () => fetch(`${url}/slow`)));
    await until(() => begun === 3);
    await sleep(610);
    // a later window is full when the requests of the first one are refunded
    expect(await statuses(3, () => fetch(`${url}/thrown`))).toEqual([401, 401, 401]);
    release();
    expect((await Promise.all(requests)).flat().sort()).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(1, () => fetch(`${url}/thrown`))).toEqual([429]);
    for (const key of await keysOf(suite.client, suite.namespace)) {
      expect([await suite.client.get(key), (await suite.client.pttl(key)) > 0]).toEqual(['3', true]);
    }
    await sleep(610);
    expect(await statuses(4, () => fetch(`${url}/thrown`))).toEqual([401, 401, 401, 429]);
    expect(lines).toEqual([]);
  });

  it('calls a function, and refunds only if it returns exactly false', async () => {
    const outcomes: Outcome[] = [];
    const rule = (name: string, countWhen: CountWhen) =>
      ({ window: '1m', limit: 9, name, countWhen }) as const;
    const nonsense = (value: unknown) => (() => value) as CountWhen;
    @Controller()
    class Functions {
      @Get()
      @FreqLimit(
        rule('sees', (outcome) => {
          outcomes.push(outcome);
          return true;
        }),
      )
      @FreqLimit(rule('no', () => false))
      @FreqLimit(rule('later-no', async () => sleep(5, false)))
      @FreqLimit(rule('later-yes', async () => sleep(5, true)))
      @FreqLimit(
        rule('throws', () => {
          throw new Error('of mine');
        }),
      )
      @FreqLimit(rule('rejects', () => Promise.reject(new Error('of mine too'))))
      @FreqLimit(rule('undefined', nonsense(undefined)))
      @FreqLimit(rule('zero', nonsense(0)))
      @FreqLimit(rule('text', nonsense('false')))
      get() {
        throw new ForbiddenException('no');
      }
    }
    const { url } = await start([Functions]);
    const response = await fetch(url);
    expect(response.status).toBe(403);
    const counted = { sees: 8, 'later-yes': 8, throws: 8, rejects: 8, undefined: 8, zero: 8, text: 8 };
    expect(remaining(response)).toEqual({ ...counted, no: 9, 'later-no': 9 });
    expect(outcomes).toEqual([
      {
        succeeded: false,
        statusCode: 403,
        error: expect.any(ForbiddenException),
        context: expect.anything(),
      },
    ]);
    expect(outcomes[0]!.context.getHandler().name).toBe('get');
    expect(lines).toEqual([
      'FREQ_LIMIT_COUNT_WHEN_FAILED: @FreqLimit on Functions.get, rule "throws": the countWhen function failed; the request counts: of mine',
      'FREQ_LIMIT_COUNT_WHEN_FAILED: @FreqLimit on Functions.get, rule "rejects": the countWhen function failed; the request counts: of mine too',
    ]);
  });

  it('passes a function the status of the response, also if the error has its own', async () => {
    const seen: unknown[] = [];
    const note: CountWhen = ({ statusCode, succeeded }) => {
      seen.push([statusCode, succeeded]);
      return true;
    };
    const toGone = { statusCode: 410, status: 410, expose: true };
    const paths = ['created', 'gone', 'plain', 'guarded'] as const;
    @Controller()
    @FreqLimit({ window: '1m', limit: 99, name: 'notes', countWhen: note })
    class Statuses {
      @Get('created')
      @HttpCode(201)
      created() {
        return 'ok';
      }
      @Get('gone')
      gone() {
        throw Object.assign(new Error('gone'), toGone);
      }
      @Get('plain')
      plain() {
        throw new Error('plain');
      }
      @Get('guarded')
      @UseGuards(THROWS)
      guarded() {
        return 'ok';
      }
    }
    const { url } = await start([Statuses]);
    const codes = [];
    for (const path of paths) codes.push((await fetch(`${url}/${path}`)).status);
    expect(codes).toEqual([201, 410, 500, 401]);
    await until(() => seen.length === 4);
    expect(seen).toEqual([
      [201, true],
      [410, false],
      [500, false],
      [401, false],
    ]);
  });

  it('applies to rules of the module and of a class, in subclasses and in request-scoped controllers', async () => {
    class Base {
      @Get('inherited')
      inherited() {
        return 'ok';
      }
    }
    const classRule = { window: '1m', limit: 2, name: 'class', countWhen: 'failure' } as const;
    @Controller('first')
    @FreqLimit(classRule)
    class First extends Base {}
    @Controller({ path: 'second', scope: Scope.REQUEST })
    @FreqLimit(classRule)
    class Second extends Base {
      @Get('own')
      own() {
        throw new UnauthorizedException();
      }
    }
    const rules = [{ window: '1m', limit: 9, name: 'module', countWhen: 'success' }] as const;
    const { url } = await start([First, Second], { rules });
    expect(remaining(await fetch(`${url}/first/inherited`))).toEqual({ module: 8, class: 2 });
    expect(remaining(await fetch(`${url}/second/inherited`))).toEqual({ module: 7, class: 2 });
    expect(remaining(await fetch(`${url}/second/own`))).toEqual({ module: 7, class: 1 });
    expect(await statuses(2, () => fetch(`${url}/second/own`))).toEqual([401, 429]);
    expect(await statuses(3, () => fetch(`${url}/first/inherited`))).toEqual([200, 200, 200]);
  });

  it('keeps two applications with one controller apart', async () => {
    @Controller()
    class Shared {
      @Get()
      get() {
        return 'ok';
      }
    }
    const rule = { window: '1m', limit: 2, name: 'module' } as const;
    const namespace = (suffix: string) =>
      kind === 'redis' ? { namespace: `${suite.namespace}:${suffix}` } : {};
    const gives = await start([Shared], { ...namespace('a'), rules: [{ ...rule, countWhen: 'failure' }] });
    const keeps = await start([Shared], { ...namespace('b'), rules: [rule] });
    const both = await start([Shared], { ...namespace('c'), rules: [{ ...rule, countWhen: 'success' }] });
    expect(await statuses(4, () => fetch(gives.url))).toEqual([200, 200, 200, 200]);
    expect(await statuses(3, () => fetch(keeps.url))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => fetch(both.url))).toEqual([200, 200, 429]);
  });

  it('sends the numbers of the charge if a request outlives its window', async () => {
    @Controller()
    class Long {
      @Get()
      @FreqLimit({ window: '200ms', limit: 3, name: 'kept' })
      @FreqLimit({ window: '200ms', limit: 3, name: 'given', countWhen: 'failure' })
      async get() {
        await sleep(400);
        return 'ok';
      }
    }
    const { url } = await start([Long]);
    const response = await fetch(url);
    expect([response.status, limitHeaders(response)['ratelimit']]).toEqual([
      200,
      '"kept";a=2;w=1, "given";a=3',
    ]);
    expect(lines).toEqual([]);
  });

  it('counts only wrong passwords in the log-in example', async () => {
    const { url } = await start([LoginController]);
    const guess = (password: string) => () => post(`${url}/login`, { user: 'ann', password });
    expect(await statuses(4, guess('open sesame'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(6, guess('guess'))).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await statuses(1, guess('open sesame'))).toEqual([429]);
    const other = await post(`${url}/login`, { user: 'bob', password: 'open sesame' });
    expect([other.status, remaining(other)]).toEqual([200, { wrong: 5, address: 90 }]);
  });

  it('charges a denied request with countDenied, without a refund', async () => {
    @Controller()
    class Denied {
      @Get()
      @FreqLimit({ window: '1m', limit: 1, name: 'one' })
      @FreqLimit({ window: '1m', limit: 9, name: 'all', countDenied: true, countWhen: 'failure' })
      get() {
        return 'ok';
      }
    }
    const { url } = await start([Denied]);
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push(remaining(await fetch(url)));
    expect(seen).toEqual([
      { one: 0, all: 9 },
      { one: 0, all: 8 },
      { one: 0, all: 7 },
    ]);
  });

  it('refunds nothing in the window after the one that was charged', async () => {
    let isSlow = true;
    @Controller()
    class Short {
      @Get()
      @FreqLimit({ window: '0.3s', limit: 3, name: 'short', countWhen: () => !isSlow })
      async get() {
        if (isSlow) await sleep(500);
        return 'ok';
      }
    }
    const { url } = await start([Short]);
    const together = async (count: number): Promise<number[]> => {
      const requests = Array.from({ length: count }, async () => (await fetch(url)).status);
      return (await Promise.all(requests)).sort();
    };
    expect(await together(5)).toEqual([200, 200, 200, 429, 429]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    isSlow = false;
    expect(await together(6)).toEqual([200, 200, 200, 429, 429, 429]);
    expect(lines).toEqual([]);
  });
});
