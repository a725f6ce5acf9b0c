import { Controller, Get, Header, Query, type Type } from '@nestjs/common';
import { Args, Int, Query as Field, Resolver } from '@nestjs/graphql';
import {
  FreqLimit,
  type FreqLimitOptions,
  type FreqLimitRule,
  type FromContext,
  isFreqLimitExceeded,
  type Verdict,
} from 'nestjs-freq-limit';
import { closeApps, startApp } from '../support/app.js';
import { DRIVERS, execute, startGraphql } from '../support/graphql.js';
import { limitHeaders, remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { usedOf } from '../support/used.js';

const suite = redisSuite();

const MESSAGE = 'This request costs more than one request may use of a limit, so it cannot pass.';
const cost: FromContext<number> = (context) =>
  Number(context.switchToHttp().getRequest<{ query: { cost: string } }>().query.cost);
const TOKENS = { name: 'tokens', window: '1d', limit: 10, key: 'all', cost, maxShare: 0.5 } as const;

function controllerWith(...rules: readonly FreqLimitRule[]): Type {
  @Controller()
  class Chat {
    @Get()
    @Header('Cache-Control', 'no-store')
    ask(@Query('cost') units: string) {
      return units;
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Chat.prototype, 'ask')!;
  for (const rule of rules) FreqLimit(rule)(Chat.prototype, 'ask', descriptor);
  return Chat;
}

const RULES: readonly (readonly [string, FreqLimitRule])[] = [
  ['a fixed window', TOKENS],
  ['a sliding window', { ...TOKENS, algorithm: 'sliding-window' }],
  ['a token bucket', { ...TOKENS, limit: 2, burst: 10, algorithm: 'token-bucket' }],
  ['a calendar', { ...TOKENS, window: { calendar: 'year' } }],
  ['a window with a block', { ...TOKENS, blockFor: '1h' }],
];

describe.each(EVERYWHERE)('maxShare on %s in %s', (platform, kind) => {
  const start = (controller: Type, more: FreqLimitOptions = {}) =>
    startApp(platform, { controllers: [controller], limits: { ...limitsIn(kind, suite), ...more } });

  it.each(RULES)('denies a request above its share of %s, and charges nothing', async (_, rule) => {
    const verdicts: Verdict[] = [];
    const Chat = controllerWith({ name: 'requests', window: '1d', limit: 9, key: 'all' }, rule);
    const { app, url } = await start(Chat, {
      // its numbers may be older
      denyCache: false,
      onVerdict: ({ verdict }) => verdicts.push(verdict),
    });
    const ask = async (units: number) => {
      const response = await fetch(`${url}?cost=${units}`);
      return [response.status, remaining(response)];
    };
    expect(await ask(6)).toEqual([429, { requests: 9, tokens: 10 }]);
    expect(await ask(5)).toEqual([200, { requests: 8, tokens: 5 }]);
    expect(await ask(1_000_000)).toEqual([429, { requests: 8, tokens: 5 }]);
    // no block has begun
    expect(await ask(5)).toEqual([200, { requests: 7, tokens: 0 }]);
    expect([await usedOf(app, Chat, 'ask', 'tokens'), await usedOf(app, Chat, 'ask', 'requests')]).toEqual([
      10, 2,
    ]);
    const limit = rule.limit as number;
    expect(verdicts.map(({ tightest }) => tightest)).toEqual([
      expect.objectContaining({
        name: 'tokens',
        allowed: false,
        aboveMaxShare: true,
        limit,
        used: 0,
        cost: 6,
      }),
      expect.not.objectContaining({ aboveMaxShare: expect.anything() }),
      expect.objectContaining({ name: 'tokens', allowed: false, aboveMaxShare: true, limit, used: 5 }),
      expect.not.objectContaining({ aboveMaxShare: expect.anything() }),
    ]);
  });

  it('does not shorten a block of a token bucket', async () => {
    const waits: (number | undefined)[] = [];
    const bucket = { ...TOKENS, window: '1h', algorithm: 'token-bucket', blockFor: '1m' } as const;
    const { url } = await start(controllerWith(bucket), {
      denyCache: false,
      onVerdict: ({ verdict }) => waits.push(verdict.tightest?.retryAfterMs),
    });
    // the third one begins a block, until the bucket is full
    for (const units of [5, 5, 5, 6, 1]) await fetch(`${url}?cost=${units}`);
    expect(waits.map((ms = 0) => ms > 3_500_000)).toEqual([false, false, true, true, true]);
  });

  it('has its own reason in bodies, problem details and exceptions', async () => {
    const seen: unknown[] = [];
    const Chat = controllerWith(TOKENS);
    const nest = await start(Chat);
    const body = (await (await fetch(`${nest.url}?cost=6`)).json()) as object;
    expect(body).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: MESSAGE,
      retryAfter: 86_400,
    });
    await closeApps();
    const problem = await start(Chat, { errorFormat: 'problem' });
    expect(await (await fetch(`${problem.url}?cost=6`)).json()).toMatchObject({
      status: 429,
      detail: MESSAGE,
      'violated-policies': ['tokens'],
    });
    await closeApps();
    const own = await start(Chat, {
      message: (verdict) => `${verdict.tightest?.aboveMaxShare} of ${verdict.tightest?.limit}`,
      onDenied: ({ verdict }) => seen.push(verdict.tightest?.aboveMaxShare),
    });
    expect(await (await fetch(`${own.url}?cost=6`)).json()).toMatchObject({ message: 'true of 10' });
    expect(seen).toEqual([true]);
    expect(isFreqLimitExceeded(body)).toBe(false);
  });

  it('charges other rules that count denied requests, not its own', async () => {
    const counts = { name: 'denied', window: '1d', limit: 9, key: 'all', countDenied: true } as const;
    const Chat = controllerWith(counts, { ...TOKENS, countDenied: true });
    const { url } = await start(Chat);
    const response = await fetch(`${url}?cost=6`);
    expect([response.status, remaining(response)]).toEqual([429, { denied: 8, tokens: 10 }]);
  });

  it('of a shadow rule denies nothing, and its result says what it would have done', async () => {
    const results: unknown[] = [];
    const Chat = controllerWith(
      { ...TOKENS, name: 'window', shadow: true },
      { ...TOKENS, name: 'bucket', shadow: true, algorithm: 'token-bucket' },
    );
    const { url } = await start(Chat, {
      onVerdict: ({ verdict }) =>
        results.push(
          ...verdict.results.map(({ name, allowed, aboveMaxShare, used, limit }) => ({
            name,
            allowed,
            aboveMaxShare,
            used,
            limit,
          })),
        ),
    });
    expect((await fetch(`${url}?cost=6`)).status).toBe(200);
    expect(results).toEqual([
      { name: 'window', allowed: false, aboveMaxShare: true, used: 0, limit: 10 },
      { name: 'bucket', allowed: false, aboveMaxShare: true, used: 0, limit: 10 },
    ]);
  });

  it('is denied from memory once the client is over its limit', async () => {
    const Chat = controllerWith(TOKENS);
    const { url } = await start(Chat);
    for (const units of [5, 5, 5]) await fetch(`${url}?cost=${units}`);
    const response = await fetch(`${url}?cost=6`);
    expect([response.status, remaining(response)]).toEqual([429, { tokens: 0 }]);
    expect(await response.json()).toMatchObject({ message: MESSAGE });
    expect(limitHeaders(response)['ratelimit-policy']).toBe('"tokens";q=10;w=86400');
  });
});

it.each(DRIVERS)('maxShare has its own reason on %s', async (driver) => {
  @Resolver()
  class Chat {
    @Field(() => Int)
    @FreqLimit({ ...TOKENS, cost: (context) => context.getArgByIndex<{ units: number }>(1).units })
    ask(@Args('units', { type: () => Int }) units: number) {
      return units;
    }
  }
  const { url } = await startGraphql(driver, { resolvers: [Chat] });
  expect((await execute(url, '{ ask(units: 5) }')).data).toEqual({ ask: 5 });
  expect((await execute(url, '{ ask(units: 6) }')).errors).toEqual([
    expect.objectContaining({ message: MESSAGE, code: 'TOO_MANY_REQUESTS' }),
  ]);
});
