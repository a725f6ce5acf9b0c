import { type ExecutionContext, ForbiddenException } from '@nestjs/common';
import {
  FreqLimit,
  type FreqLimitOptions,
  type FreqLimitRule,
  FreqLimitService,
  type Verdict,
  type Window,
} from 'nestjs-freq-limit';
import { startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { limited } from '../support/limited.js';
import { captureLog, logLine } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();
const { errors } = captureLog();

const query = (context: ExecutionContext): Record<string, string> =>
  context.switchToHttp().getRequest<{ query: Record<string, string> }>().query;

/** Reads a number later, as from a database. */
const later =
  (name: string) =>
  async (context: ExecutionContext): Promise<number> => {
    await Promise.resolve();
    return Number(query(context)[name]);
  };

describe.each(EVERYWHERE)('functions of the context on %s, in %s', (platform, kind) => {
  const start = async (rule: FreqLimitRule, options: FreqLimitOptions = {}) => {
    const controller = limited(FreqLimit(rule));
    const limits = { ...limitsIn(kind, suite), ...options };
    const { app, url } = await startApp(platform, { controllers: [controller], limits });
    const service = app.get(FreqLimitService);
    return { url, service, of: { controller, handler: 'call', rule: 'x' } };
  };

  it('give a sliding window its length, each with its own counters', async () => {
    const { url, service, of } = await start({
      name: 'x',
      window: (context) => query(context)['window'] as Window,
      limit: 2,
      algorithm: 'sliding-window',
    });
    for (const window of ['1m', '1h']) {
      expect(await statuses(3, () => fetch(`${url}?window=${window}`))).toEqual([200, 200, 429]);
    }
    expect(await statuses(1, () => fetch(`${url}?window=month`))).toEqual([500]);
    expect(errors).toEqual([logLine('FREQ_LIMIT_RULE_FAILED', 'The request got 500: ')]);
    const check = { ...of, key: '127.0.0.1' };
    expect((await service.peek({ ...check, window: '1h' })).tightest).toMatchObject({ used: 2 });
    await expect(service.peek(check)).rejects.toMatchObject({ code: 'FREQ_LIMIT_INVALID_CHECK' });
  });

  it('give a token bucket its limit and its burst, on the same counter', async () => {
    const rule = { name: 'x', window: '1h', algorithm: 'token-bucket' } as const;
    const { url, service, of } = await start({ ...rule, limit: later('limit'), burst: later('burst') });
    const send = (limit: number, burst: number) => fetch(`${url}?limit=${limit}&burst=${burst}`);
    const first = await send(60, 3);
    expect(limitHeaders(first)).toEqual({ 'ratelimit-policy': '"x";q=3;w=180', ratelimit: '"x";a=2;w=60' });
    expect(remaining(await send(60, 10))).toEqual({ x: 8 });
    const denied = await send(30, 2);
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '120']);
    expect((await send(0, 10)).status).toBe(429);
    expect((await send(60, -1)).status).toBe(500);
    const check = { ...of, key: '127.0.0.1', limit: 60, burst: 10 };
    expect((await service.peek(check)).tightest).toMatchObject({ used: 2, remaining: 8 });
    const incomplete = service.peek({ ...check, burst: undefined });
    await expect(incomplete).rejects.toMatchObject({ code: 'FREQ_LIMIT_INVALID_CHECK' });
  });

  it('give a calendar its time zone, each with its own counters', async () => {
    const timeZone = async (context: ExecutionContext): Promise<string> => {
      await Promise.resolve();
      return query(context)['zone']!;
    };
    const { url, service, of } = await start({ name: 'x', window: { calendar: 'year', timeZone }, limit: 2 });
    const send = (zone: string) => fetch(`${url}?zone=${encodeURIComponent(zone)}`);
    for (const zone of ['Asia/Tokyo', 'America/St_Johns', 'Etc/GMT+5', 'UTC']) {
      expect(await statuses(3, () => send(zone))).toEqual([200, 200, 429]);
    }
    // the names of time zones have no case
    expect((await send('asia/tokyo')).status).toBe(429);
    expect((await send('Mars/Base')).status).toBe(500);
    expect(errors).toEqual([logLine('FREQ_LIMIT_RULE_FAILED', 'The request got 500: ')]);
    const check = { ...of, key: '127.0.0.1', timeZone: 'Asia/Tokyo' };
    expect((await service.peek(check)).tightest).toMatchObject({ used: 2, allowed: false });
    await service.reset(check);
    expect((await send('Asia/Tokyo')).status).toBe(200);
  });

  it('give a rule with blocks its limit: each plan is blocked at its own', async () => {
    const { url } = await start({
      name: 'x',
      window: '1h',
      limit: later('limit'),
      key: '{query.user}',
      blockFor: '2h',
    });
    const send = (user: string, limit: number) => () => fetch(`${url}?user=${user}&limit=${limit}`);
    expect(await statuses(3, send('free', 2))).toEqual([200, 200, 429]);
    expect(await statuses(5, send('paid', 4))).toEqual([200, 200, 200, 200, 429]);
    // a better plan does not end a block
    const blocked = await send('free', 100)();
    expect([blocked.status, blocked.headers.get('retry-after')]).toEqual([429, '7200']);
  });

  it('get a verdict with the block, for messages and exceptions', async () => {
    const verdicts: Verdict[] = [];
    const rule = { name: 'x', window: '1m', limit: 1, blockFor: '15m' } as const;
    const { url } = await start({
      ...rule,
      statusCode: 423,
      message: (verdict) => {
        verdicts.push(verdict);
        return verdict.tightest?.blocked === true ? 'You are blocked.' : 'Too many.';
      },
    });
    await fetch(url);
    const response = await fetch(url);
    expect([response.status, response.headers.get('retry-after')]).toEqual([423, '900']);
    expect(await response.json()).toMatchObject({
      statusCode: 423,
      message: 'You are blocked.',
      retryAfter: 900,
    });
    const own = await start(rule, {
      exceptionFactory: ({ tightest }) => new ForbiddenException(`blocked: ${tightest?.blocked}`),
    });
    // the name and the place of the rule are the same, and so is its counter in Redis
    await fetch(own.url);
    const denied = await fetch(own.url);
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([403, '900']);
    expect(await denied.json()).toMatchObject({ message: 'blocked: true' });
  });

  it.each([
    ['draft-11', { 'ratelimit-policy': '"x";q=3;w=1800', ratelimit: '"x";r=0;t=1800', 'retry-after': '600' }],
    [
      'legacy',
      {
        'x-ratelimit-limit': '3',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1800',
        'retry-after': '600',
      },
    ],
    ['retry-after', { 'retry-after': '600' }],
    ['none', {}],
  ] as const)('show the numbers of a bucket in the headers %s', async (headers, expected) => {
    const bucket = { window: '1h', limit: 6, algorithm: 'token-bucket' } as const;
    const { url } = await start({ ...bucket, name: 'x', burst: () => 3 }, { headers });
    await statuses(3, () => fetch(url));
    expect(limitHeaders(await fetch(url))).toEqual(expected);
  });
});
