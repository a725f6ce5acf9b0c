import {
  Controller,
  Get,
  type INestApplication,
  type ModuleMetadata,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { jest } from '@jest/globals';
import { minutes, SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { readFileSync } from 'node:fs';
import { ArticlesModule } from '../../examples/migrating/from-throttler.js';
import { DenialsFilter, sameBody, sameHeaders } from '../../examples/migrating/throttler-answers.js';
import { ThrottledModule } from '../../examples/migrating/throttler-storage.js';
import { TrialModule } from '../../examples/migrating/throttler-trial.js';
import {
  FreqLimit,
  FreqLimitGuard,
  FreqLimitModule,
  type FreqLimitOptions,
  type FreqLimitRule,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { expectLimited, expectNotLimited, TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { type Platform, PLATFORMS, serve, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { captureLog } from '../support/log.js';
import {
  closeMicroservices,
  messageClient,
  startMicroservice,
  transportOf,
} from '../support/microservices.js';

const THROTTLER_GUARD = { provide: APP_GUARD, useClass: ThrottlerGuard };
const minute = (limit: number): FreqLimitRule => ({ name: 'default', window: '1m', limit });
const ofTtl = (limit: number) => ({ default: { ttl: minutes(1), limit } });

/** Each handler has the decorators of the throttler, and the ones that the page gives for them. */
@Controller('api')
class Api {
  @Get('plain')
  plain() {
    return 'ok';
  }

  @Get('own')
  @Throttle(ofTtl(1))
  @FreqLimit(minute(1))
  own() {
    return 'ok';
  }

  @Get('skipped')
  @SkipThrottle()
  @SkipFreqLimit('default')
  skipped() {
    return 'ok';
  }
}

@Controller('group')
@Throttle(ofTtl(2))
@FreqLimit({ ...minute(2), scope: 'handler' })
class Group {
  @Get('a')
  a() {
    return 'ok';
  }

  @Get('b')
  b() {
    return 'ok';
  }
}

@Controller('open')
@SkipThrottle({ default: true })
@SkipFreqLimit('default')
class Open {
  @Get('a')
  a() {
    return 'ok';
  }

  @Get('limited')
  @SkipThrottle({ default: false })
  @FreqLimit(minute(2))
  limited() {
    return 'ok';
  }
}

const controllers = [Api, Group, Open];
const { lines } = captureLog();
afterEach(closeMicroservices);

const throttled = (throttlers: Parameters<typeof ThrottlerModule.forRoot>[0]): ModuleMetadata => ({
  imports: [ThrottlerModule.forRoot(throttlers)],
  controllers,
  providers: [THROTTLER_GUARD],
});
const limited = (options: FreqLimitOptions): ModuleMetadata => ({
  imports: [FreqLimitModule.forRoot(options)],
  controllers,
});

/** An example, counting in memory whatever the environment of the tests is. */
async function start(
  platform: Platform,
  module: Type,
): Promise<{ app: INestApplication; url: string; clock: TestClock }> {
  const clock = new TestClock();
  const app = await serve(platform, { imports: [module] }, (builder) => useMemoryStore(builder, clock));
  return { ...app, clock };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Limit headers. Times are `true` if they are whole seconds of at most two minutes and one second. */
  readonly headers: Record<string, string | boolean>;
}

async function answer(url: string): Promise<Answer> {
  const response = await fetch(url);
  const text = await response.text();
  const headers = [...response.headers]
    .filter(([name]) => /^(x-ratelimit-|retry-after)/.test(name))
    .map(([name, value]) => [
      name,
      /reset|retry/.test(name) ? /^([1-9]\d?|1[01]\d|12[01])$/.test(value) : value,
    ]);
  const body: unknown = text.startsWith('{') ? JSON.parse(text) : text;
  return { status: response.status, body, headers: Object.fromEntries(headers) as Answer['headers'] };
}

describe.each(PLATFORMS)('an application that leaves the throttler, on %s', (platform) => {
  it('keeps the throttler and lets it count here', async () => {
    const { url, clock } = await start(platform, ThrottledModule);
    const search = (): Promise<Response> => fetch(`${url}/search`);
    expect(await statuses(3, search)).toEqual([200, 200, 429]);
    clock.advance('29s');
    const blocked = await search();
    expect([blocked.status, blocked.headers.get('retry-after-burst')]).toEqual([429, '1']);
    clock.advance('1s');
    expect(await statuses(3, search)).toEqual([200, 200, 429]);
  });

  it('counts in memory if the storage is inside a throttler', async () => {
    const increment = jest.fn();
    const misplaced = { ttl: minutes(1), limit: 1, storage: { increment } };
    const { url } = await serve(platform, throttled([misplaced]));
    expect(await statuses(2, () => fetch(`${url}/api/plain`))).toEqual([200, 429]);
    expect(increment).not.toHaveBeenCalled();
  });

  it('writes the throttlers as rules', async () => {
    const { url, clock } = await start(platform, ArticlesModule);
    const write = (key: string) => (): Promise<Response> => post(`${url}/articles`, {}, { 'x-api-key': key });
    await expectLimited(write('a'), { passes: 2, retryAfter: 60 });
    clock.advance('1s');
    await expectLimited(write('b'), { passes: 2, retryAfter: 60 });
    await expectNotLimited(() => fetch(`${url}/articles`), { requests: 5 });
    clock.advance('1s');
    await expectLimited(() => fetch(`${url}/articles/newest`), { passes: 3, retryAfter: 30 });
    clock.advance('30s');
    const { headers } = await fetch(`${url}/articles/newest`);
    expect(headers.get('x-ratelimit-remaining')).toBe('2');
  });

  it('gives the same statuses, bodies and headers with the decorators of the page', async () => {
    const rules = [{ ...minute(2), scope: 'handler' }] as const;
    const { url: old } = await serve(platform, throttled([{ ttl: minutes(1), limit: 2 }]));
    const { url } = await serve(platform, limited({ ...sameBody, headers: 'legacy', rules }));
    for (const [path, times] of [
      ['api/plain', 3],
      ['api/own', 2],
      ['api/skipped', 4],
      ['group/a', 3],
      ['group/b', 3],
      ['open/a', 5],
      ['open/limited', 3],
    ] as const) {
      for (let i = 0; i < times; i++) {
        const expected = await answer(`${old}/${path}`);
        const { status, body, headers } = await answer(`${url}/${path}`);
        expect([path, status, body]).toEqual([path, expected.status, expected.body]);
        // a denial has the numbers of the rule too
        expect(headers).toEqual(status === 429 ? { ...headers, 'retry-after': true } : expected.headers);
      }
    }
  });

  it('has the bodies of the two tables, and a filter for its denials', async () => {
    const { url: old } = await serve(platform, throttled([{ ttl: minutes(1), limit: 1 }]));
    const filters: DenialsFilter[] = [];
    const { url } = await serve(
      platform,
      limited({ rules: [{ name: 'default', window: '8s', limit: 1 }] }),
      // the wait in the body is 8 seconds, however slow the machine is
      (builder) => useMemoryStore(builder, new TestClock()),
      (app) => {
        filters.push(new DenialsFilter(app.getHttpAdapter()));
        app.useGlobalFilters(...filters);
      },
    );
    for (const base of [old, url]) await answer(`${base}/api/plain`);
    const page = readFileSync(new URL('../../docs/migrating-from-throttler.md', import.meta.url), 'utf8');
    for (const base of [old, url]) {
      const { body } = await answer(`${base}/api/plain`);
      expect(page).toContain(`\`${JSON.stringify(body)}\``);
    }
    expect(filters.map(({ denials }) => denials)).toEqual([1]);
  });

  it('sends the headers of each throttler', async () => {
    const burst = { name: 'burst', ttl: minutes(1), limit: 2 };
    const { url: old } = await serve(platform, throttled([burst, { ttl: minutes(2), limit: 2 }]));
    const rules: FreqLimitRule[] = [
      { name: 'burst', window: '1m', limit: 2, scope: 'handler' },
      { name: 'default', window: '2m', limit: 2, scope: 'handler' },
    ];
    const { url } = await serve(platform, limited({ ...sameHeaders, rules }));
    for (let i = 0; i < 2; i++) {
      expect(await answer(`${url}/api/plain`)).toEqual(await answer(`${old}/api/plain`));
    }
    const before = await answer(`${old}/api/plain`);
    expect(before.headers).toEqual({ 'retry-after-burst': true });
    expect((await answer(`${url}/api/plain`)).headers).toEqual({
      'retry-after': true,
      'retry-after-burst': true,
      'x-ratelimit-limit': '2',
      'x-ratelimit-limit-burst': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-remaining-burst': '0',
      'x-ratelimit-reset': true,
      'x-ratelimit-reset-burst': true,
    });
  });

  it('tries the rules while the throttler decides', async () => {
    const { url, clock } = await start(platform, TrialModule);
    const prices = (): Promise<Answer> => answer(`${url}/prices`);
    const remaining = [await prices(), await prices(), await prices()].map(({ status, headers }) => [
      status,
      headers['x-ratelimit-remaining'],
    ]);
    expect(remaining).toEqual([
      [200, '2'],
      [200, '1'],
      [200, '0'],
    ]);
    // requests that the throttler denies do not reach the rules
    expect([await prices(), await prices()].map(({ status }) => status)).toEqual([429, 429]);
    expect(lines).toEqual([
      'FREQ_LIMIT_SHADOW_DENIED: PricesController.prices, rule "default": this shadow rule would have denied a request',
    ]);
    clock.advance('1m');
    expect((await prices()).status).toBe(429);
  });

  it('counts a request once if two guards apply to it, which the throttler counts twice', async () => {
    @Controller()
    @UseGuards(ThrottlerGuard)
    class Before {
      @Get()
      get() {
        return 'ok';
      }
    }

    @Controller()
    @UseGuards(FreqLimitGuard)
    class After {
      @Get()
      get() {
        return 'ok';
      }
    }
    const before = { ...throttled([{ ttl: minutes(1), limit: 4 }]), controllers: [Before] };
    const after = { ...limited({ headers: 'legacy', rules: [minute(4)] }), controllers: [After] };
    const [{ url: old }, { url }] = await Promise.all([serve(platform, before), serve(platform, after)]);
    expect((await answer(old)).headers['x-ratelimit-remaining']).toBe('2');
    expect((await answer(url)).headers['x-ratelimit-remaining']).toBe('3');
  });

  it('does not start with a decorator that skips an unknown rule, which the throttler ignores', async () => {
    const { url } = await serve(platform, throttled([{ name: 'burst', ttl: minutes(1), limit: 1 }]));
    expect(await statuses(2, () => fetch(`${url}/api/skipped`))).toEqual([200, 429]);
    await expect(
      serve(platform, limited({ rules: [{ name: 'burst', window: '1m', limit: 1 }] })),
    ).rejects.toThrow('@SkipFreqLimit on Api.skipped: no rule here has the name "default"');
  });
});

describe('a microservice with the throttler', () => {
  @Controller()
  class Messages {
    @MessagePattern('say')
    say() {
      return 'said';
    }
  }

  it('counts the messages of all clients together, and fails over the limit', async () => {
    const transport = await transportOf('tcp');
    await startMicroservice(transport, {
      limits: { globalGuard: false },
      imports: [ThrottlerModule.forRoot([{ ttl: minutes(1), limit: 2 }])],
      controllers: [Messages],
      providers: [THROTTLER_GUARD],
    });
    const sent = [];
    for (let i = 0; i < 3; i++) sent.push(await messageClient(transport).send('say', {}));
    expect(sent).toEqual(['said', 'said', { error: { status: 'error', message: 'Internal server error' } }]);
  });
});

describe('the page about extending', () => {
  it('has a row for each method of ThrottlerGuard that can be overridden', () => {
    const page = readFileSync(new URL('../../docs/extending.md', import.meta.url), 'utf8');
    const table = page.slice(0, page.indexOf('\n## '));
    const methods = Object.getOwnPropertyNames(ThrottlerGuard.prototype);
    const own = new Set(['constructor', 'toNumber', 'resolveValue']);
    expect(methods.filter((name) => !own.has(name) && !table.includes(`\`${name}\``))).toEqual([]);
    expect(methods.length).toBeGreaterThan(own.size);
  });
});
