import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Logger,
  type NestInterceptor,
  Param,
  Post,
  Scope,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Observable } from 'rxjs';
import {
  denials,
  hooks,
  ReportsController,
  tried,
  watchDenials,
  trial,
  wouldDeny,
} from '../../examples/http/observing.js';
import {
  FreqLimit,
  type FreqLimitEvent,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitService,
  FreqLimitVerdict,
  SkipFreqLimit,
  type Verdict,
} from '../../src/index.js';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';
import { freePort } from '../support/server.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => ({
  redis: redisUrl(),
  namespace: suite.namespace,
  timeoutMs: 5_000,
});

let lines: string[];
beforeEach(() => {
  lines = [];
  const note = (message: unknown): void => void lines.push(String(message));
  jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
});

const minute = { window: '1m', limit: 2, name: 'minute' } as const;

@Controller()
class Limited {
  @Get()
  @FreqLimit(minute)
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('@FreqLimitVerdict() on %s', (platform) => {
  const seen: Verdict[] = [];
  beforeEach(() => {
    seen.length = 0;
  });

  @Controller()
  class Told {
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

  it.each(['memory', 'redis'])('is the verdict by which the visit was let in, %s', async (kind) => {
    const limits = kind === 'redis' ? inRedis() : {};
    const { url } = await startApp(platform, { controllers: [Told], limits });
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

  it('is an empty one where no rule applies, or no guard stands', async () => {
    const none = { allowed: true, results: [], source: 'none', hasTightest: false };
    const ruled = await startApp(platform, {
      controllers: [Told],
      limits: { rules: [{ ...minute, name: 'all' }] },
    });
    expect(await (await fetch(`${ruled.url}/free`)).json()).toEqual(none);
    const { url } = await startApp(platform, { controllers: [Told] }, (builder) =>
      builder.overrideGuard(FreqLimitGuard).useValue({ canActivate: () => true }),
    );
    expect(await statuses(3, () => fetch(`${url}/limited`))).toEqual([200, 200, 200]);
    expect(seen.map(({ source }) => source)).toEqual(['none', 'none', 'none']);
  });

  it('may stand several times, and knows what is given back later as charged', async () => {
    const { url } = await startApp(platform, { controllers: [Told] });
    expect(await (await fetch(`${url}/twice/7`)).json()).toEqual({ same: true, n: '7' });
    const response = await fetch(`${url}/given-back`);
    expect([await response.json(), remaining(response)]).toEqual([{ used: 1 }, { minute: 2 }]);
  });

  it('is each visit’s own, however many are under way', async () => {
    @Controller({ scope: Scope.REQUEST })
    class Many {
      @Get(':caller')
      @FreqLimit({ window: '1m', limit: 50, key: '{params.caller}', name: 'caller' })
      async get(@Param('caller') caller: string, @FreqLimitVerdict() { tightest }: Verdict) {
        return { caller, used: tightest?.used };
      }
    }
    const { url } = await startApp(platform, { controllers: [Many], limits: inRedis() });
    const asked = Array.from({ length: 60 }, async (_, i) => (await fetch(`${url}/c${i % 3}`)).json());
    const answers = (await Promise.all(asked)) as { caller: string; used: number }[];
    for (const caller of ['c0', 'c1', 'c2']) {
      const used = answers.filter((answer) => answer.caller === caller).map((answer) => answer.used);
      expect(used.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    }
  });

  it('is there for a subclass, and behind guards and interceptors that have seen the request', async () => {
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

  it('tells the caller of the example what he has left', async () => {
    const { url } = await startApp(platform, { controllers: [ReportsController] });
    const headers = { 'x-api-key': 'k1' };
    await fetch(`${url}/reports`, { headers });
    const response = await fetch(`${url}/reports`, { headers });
    expect(await response.json()).toEqual({ reports: [], left: 18 });
  });
});

it('@FreqLimitVerdict() stands on parameters of handlers alone', () => {
  const place = (): unknown => {
    class Wrong {
      constructor(@FreqLimitVerdict() readonly verdict: Verdict) {}
    }
    return Wrong;
  };
  expect(place).toThrow(new TypeError('@FreqLimitVerdict() stands on a parameter of a handler'));
});

describe.each(PLATFORMS)('hooks on %s', (platform) => {
  it('are told of verdicts and of denials, with the context of the visit', async () => {
    const events: unknown[] = [];
    const told = (kind: string) => (event: FreqLimitEvent) => {
      const { verdict, context } = event;
      events.push([kind, verdict.allowed, verdict.tightest?.remaining, context?.getHandler().name]);
    };
    const limits = { onVerdict: told('verdict'), onDenied: told('denied') };
    const { app, url } = await startApp(platform, { controllers: [Limited], limits });
    await statuses(3, () => fetch(url));
    await app.get(FreqLimitService).consume({ key: 'x', window: '1m', limit: 0 });
    expect(events).toEqual([
      ['verdict', true, 1, 'get'],
      ['verdict', true, 0, 'get'],
      ['verdict', false, 0, 'get'],
      ['denied', false, 0, 'get'],
      ['verdict', false, 0, undefined],
      ['denied', false, 0, undefined],
    ]);
  });

  it('change nothing, whether they throw, reject or never end', async () => {
    const throws = (): never => {
      throw new Error('of a hook');
    };
    const rejects = (): Promise<never> => Promise.reject(new Error('of a hook'));
    const line = 'A hook failed; the request continues: of a hook';
    const thenable = (): unknown => ({ then: throws });
    const getter = (): unknown => Object.defineProperty({}, 'then', { get: throws });
    const late = (): unknown => ({
      then: (_: unknown, reject: (error: Error) => void) => {
        reject(new Error('of a hook'));
      },
    });
    for (const hook of [throws, rejects, thenable, getter, late]) {
      lines.length = 0;
      const limits = { onVerdict: hook, onDenied: hook };
      const { url } = await startApp(platform, { controllers: [Limited], limits });
      expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
      // at most one a second
      expect(lines[0]).toBe(line);
      expect(lines.length).toBeLessThan(4);
    }
    const never = (): Promise<void> => new Promise(() => undefined);
    const limits = { onVerdict: never, onDenied: never };
    const { url } = await startApp(platform, { controllers: [Limited], limits });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
  });

  it('are not told where no rule applies, or a rule fails', async () => {
    const onVerdict = jest.fn();
    @Controller()
    class Others {
      @Get('free')
      free() {
        return 'ok';
      }
      @Get('fails')
      @FreqLimit({ ...minute, key: () => Promise.reject(new Error('no key')) })
      fails() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Others], limits: { onVerdict } });
    expect(await statuses(1, () => fetch(`${url}/free`))).toEqual([200]);
    expect(await statuses(1, () => fetch(`${url}/fails`))).toEqual([500]);
    expect(onVerdict).not.toHaveBeenCalled();
  });

  it('count the denials of the example', async () => {
    denials.clear();
    const { url } = await startApp(platform, { controllers: [Limited], limits: hooks });
    await statuses(5, () => fetch(url));
    expect([...denials]).toEqual([['minute', 3]]);
  });
});

describe.each(PLATFORMS)('channels on %s', (platform) => {
  it('carry verdicts and denials to whoever subscribes', async () => {
    const events: unknown[] = [];
    const listen = (message: unknown, name: unknown): void => {
      const { verdict, context } = message as FreqLimitEvent;
      events.push([name, verdict.tightest?.name, verdict.allowed, context?.getClass()]);
    };
    const names = ['nestjs-freq-limit:verdict', 'nestjs-freq-limit:denied'];
    for (const name of names) subscribe(name, listen);
    const { url } = await startApp(platform, { controllers: [Limited] });
    await statuses(3, () => fetch(url));
    for (const name of names) unsubscribe(name, listen);
    await statuses(1, () => fetch(url));
    expect(events).toEqual([
      ['nestjs-freq-limit:verdict', 'minute', true, Limited],
      ['nestjs-freq-limit:verdict', 'minute', true, Limited],
      ['nestjs-freq-limit:verdict', 'minute', false, Limited],
      ['nestjs-freq-limit:denied', 'minute', false, Limited],
    ]);
  });
});

describe.each(PLATFORMS)('a shadow rule on %s', (platform) => {
  const shadow = { window: '1m', limit: 1, name: 'shadow', shadow: true } as const;
  const results = (verdicts: Verdict[]) =>
    verdicts.map((verdict) => [
      verdict.allowed,
      ...verdict.results.map((result) => [
        result.name,
        result.allowed,
        result.used,
        result.remaining,
        result.limit,
        result.shadow,
      ]),
    ]);

  it.each(['memory', 'redis'])('reports and never denies, %s', async (kind) => {
    const verdicts: Verdict[] = [];
    const onDenied = jest.fn();
    @Controller()
    class Tried {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'real' })
      @FreqLimit(shadow)
      get(@FreqLimitVerdict() verdict: Verdict) {
        verdicts.push(verdict);
        return 'ok';
      }
    }
    const limits = { ...(kind === 'redis' ? inRedis() : {}), onDenied, headers: 'both' } as const;
    const { url } = await startApp(platform, { controllers: [Tried], limits });
    const answers = [];
    for (let i = 0; i < 4; i++) {
      const response = await fetch(url);
      answers.push([
        response.status,
        limitHeaders(response)['ratelimit'],
        limitHeaders(response)['x-ratelimit-limit'],
      ]);
    }
    expect(answers).toEqual([
      [200, '"real";a=2;w=60', '3'],
      [200, '"real";a=1;w=60', '3'],
      [200, '"real";a=0;w=60', '3'],
      [429, '"real";a=0;w=60', '3'],
    ]);
    expect(results(verdicts)).toEqual([
      [true, ['real', true, 1, 2, 3, undefined], ['shadow', true, 1, 0, 1, true]],
      [true, ['real', true, 2, 1, 3, undefined], ['shadow', false, 2, 0, 1, true]],
      [true, ['real', true, 3, 0, 3, undefined], ['shadow', false, 3, 0, 1, true]],
    ]);
    expect(verdicts.map(({ tightest }) => tightest?.name)).toEqual(['real', 'real', 'real']);
    expect(onDenied).toHaveBeenCalledTimes(1);
    expect(lines).toEqual(['Tried.get, rule "shadow": a shadow rule, which would have denied a visit']);
  });

  it('is not charged for a visit that another rule denies, unless countDenied says so', async () => {
    const verdicts: Verdict[] = [];
    @Controller()
    class Denied {
      @Get()
      @FreqLimit({ ...minute, limit: 1 })
      @FreqLimit({ ...shadow, limit: 2, name: 'quiet' })
      @FreqLimit({ ...shadow, limit: 2, name: 'all', countDenied: true })
      get() {
        return 'ok';
      }
    }
    const onVerdict = ({ verdict }: FreqLimitEvent): void => void verdicts.push(verdict);
    const { url } = await startApp(platform, { controllers: [Denied], limits: { ...inRedis(), onVerdict } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
    expect(results(verdicts).map(([, , ...rest]) => rest)).toEqual([
      [
        ['quiet', true, 1, 1, 2, true],
        ['all', true, 1, 1, 2, true],
      ],
      [
        ['quiet', true, 1, 1, 2, true],
        ['all', true, 2, 0, 2, true],
      ],
      [
        ['quiet', true, 1, 1, 2, true],
        ['all', false, 3, 0, 2, true],
      ],
    ]);
  });

  it('sends no headers where it stands alone', async () => {
    @Controller()
    class Alone {
      @Get()
      @FreqLimit({ ...shadow, limit: 0 })
      get(@FreqLimitVerdict() { allowed, tightest, results: [result] }: Verdict) {
        return { allowed, hasTightest: tightest !== undefined, would: result?.allowed };
      }
    }
    for (const headers of ['both', 'legacy'] as const) {
      const { url } = await startApp(platform, { controllers: [Alone], limits: { headers } });
      const response = await fetch(url);
      expect([response.status, limitHeaders(response)]).toEqual([200, {}]);
      expect(await response.json()).toEqual({ allowed: true, hasTightest: false, would: false });
    }
  });

  it('denies nobody when its functions fail, or its key is missing, and the others go on', async () => {
    const fails = (message: string) => () => Promise.reject(new Error(message));
    @Controller()
    class Failing {
      @Get()
      @FreqLimit({ ...minute, name: 'real' })
      @FreqLimit({ ...shadow, name: 'key', key: fails('no key') })
      @FreqLimit({ ...shadow, name: 'limit', limit: () => NaN })
      @FreqLimit({
        ...shadow,
        name: 'skip',
        skipIf: () => {
          throw new Error('no skip');
        },
      })
      @FreqLimit({ ...shadow, name: 'missing', key: '{headers.x-none}', onMissingKey: 'deny' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Failing] });
    const response = await fetch(url);
    expect([response.status, remaining(response)]).toEqual([200, { real: 1 }]);
    // once a minute at most
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(lines.sort()).toEqual([
      'A shadow rule was left out of a visit: @FreqLimit on Failing.get, rule "key": the key function failed: no key',
      'A shadow rule was left out of a visit: @FreqLimit on Failing.get, rule "limit": the limit function answered NaN, which is not a whole number from 0 to 2^53 - 1',
      'A shadow rule was left out of a visit: @FreqLimit on Failing.get, rule "skip": the skipIf function failed: no skip',
    ]);
  });

  it('denies nobody while the store cannot answer, whatever its onStoreError', async () => {
    const verdicts: Verdict[] = [];
    @Controller()
    class Down {
      @Get()
      @FreqLimit({ ...shadow, onStoreError: 'deny' })
      get(@FreqLimitVerdict() verdict: Verdict) {
        verdicts.push(verdict);
        return 'ok';
      }
    }
    const redis = `redis://127.0.0.1:${await freePort()}`;
    const { url } = await startApp(platform, { controllers: [Down], limits: { redis } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200]);
    expect(verdicts.map(({ results: [result] }) => [result?.source, result?.allowed])).toEqual([
      ['allow', true],
      ['allow', true],
      ['allow', true],
    ]);
  });

  it('tells the log at once, and then once a minute how many there were', async () => {
    let nowMs = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    @Controller()
    class Loud {
      @Get()
      @FreqLimit({ window: '1h', limit: 1, name: 'loud', shadow: true })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Loud] });
    await statuses(5, () => fetch(url));
    nowMs += 59_000;
    await statuses(2, () => fetch(url));
    nowMs += 2_000;
    await statuses(2, () => fetch(url));
    expect(lines).toEqual([
      'Loud.get, rule "loud": a shadow rule, which would have denied a visit',
      'Loud.get, rule "loud": a shadow rule, which would have denied 6 visits since it was last told',
    ]);
  });

  it('names those of the example whom it would have denied', async () => {
    wouldDeny.length = 0;
    const limits = { ...trial, rules: [{ ...tried, limit: 1 }] };
    const { url } = await startApp(platform, { controllers: [Limited], limits });
    await statuses(2, () => fetch(url));
    expect(wouldDeny).toEqual([['tried', 2, Limited]]);
  });
});

// last: what subscribes here stays
it('denials reach a listener outside of the application', async () => {
  denials.clear();
  watchDenials();
  const { url } = await startApp('express', { controllers: [Limited] });
  await statuses(3, () => fetch(url));
  expect([...denials]).toEqual([['minute', 1]]);
});
