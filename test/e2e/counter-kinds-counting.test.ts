import type { ExecutionContext } from '@nestjs/common';
import {
  type CountWhen,
  FreqLimit,
  type FreqLimitEvent,
  type FreqLimitOptions,
  type FreqLimitRule,
  FreqLimitService,
  type Verdict,
} from 'nestjs-freq-limit';
import { startApp, statuses } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { EVERYWHERE, KINDS, limitsIn } from '../support/kinds.js';
import { type CounterName, COUNTERS, limited, THREE } from '../support/limited.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();
const { lines } = captureLog();

const isBucket = (counter: CounterName): boolean => counter.includes('bucket');
const queryOf = (context: ExecutionContext): Record<string, string> =>
  context.switchToHttp().getRequest<{ query: Record<string, string> }>().query;

describe.each(EVERYWHERE)('on %s, in %s', (platform, kind) => {
  const start = (rules: readonly FreqLimitRule[], options: FreqLimitOptions = {}) => {
    const limits = { ...limitsIn(kind, suite), ...options };
    return startApp(platform, { controllers: [limited(...rules.map((rule) => FreqLimit(rule)))], limits });
  };

  describe.each(COUNTERS)('%s', (counter) => {
    const three = { ...THREE[counter], name: 'x' } as FreqLimitRule;

    it('charges denied requests with countDenied, a bucket at most what it contains', async () => {
      const denies = { window: '1h', limit: 1, name: 'denies' } as const;
      const { url } = await start([denies, { ...three, countDenied: true }]);
      const left = [];
      for (let i = 0; i < 5; i++) left.push(remaining(await fetch(url))['x']);
      expect(left).toEqual([2, 1, 0, 0, 0]);
    });

    it('is charged all or none: a rule that another one denies begins no block', async () => {
      const skipIf = (context: ExecutionContext) => queryOf(context)['go'] === 'yes';
      const denies = { window: '1h', limit: 0, name: 'denies', skipIf } as const;
      const { url } = await start([denies, three]);
      expect(await statuses(5, () => fetch(url))).toEqual([429, 429, 429, 429, 429]);
      expect(await statuses(4, () => fetch(`${url}?go=yes`))).toEqual([200, 200, 200, 429]);
    });

    const outcomes: [string, CountWhen, number, number][] = [
      ['success', 'success', 400, 200],
      ['failure', 'failure', 200, 400],
      ['a function', ({ statusCode }) => statusCode === 401, 403, 401],
    ];
    it.each(outcomes)('counts by the outcome: %s', async (_, countWhen, free, counted) => {
      const { url } = await start([{ ...three, countWhen }], { headers: 'draft' });
      const send = (status: number) => fetch(status === 200 ? url : `${url}?status=${status}`);
      for (let i = 0; i < 5; i++) {
        const response = await send(free);
        expect([response.status, remaining(response)['x']]).toEqual([free, 3]);
      }
      for (const left of [2, 1, 0]) {
        const response = await send(counted);
        expect([response.status, remaining(response)['x']]).toEqual([counted, left]);
      }
      expect((await send(free)).status).toBe(429);
      const kept = kind === 'redis' ? await keysOf(suite.client, suite.namespace) : [];
      // refunds leave no counter; a ladder has a key for its steps
      expect(kept).toHaveLength(kind === 'redis' ? (hasLadder(counter) ? 2 : 1) : 0);
    });

    it('refunds only the charge: the times in headers go back as well', async () => {
      const { url } = await start([{ ...three, countWhen: 'failure' }]);
      const before = limitHeaders(await fetch(`${url}?status=400`));
      const after = limitHeaders(await fetch(url));
      expect(remaining(await fetch(url))).toEqual({ x: 2 });
      const seconds = [before, after].map(({ ratelimit = '' }) => Number(/w=(\d+)/.exec(ratelimit)?.[1]));
      expect(seconds[0]! - seconds[1]!).toBeGreaterThanOrEqual(0);
      expect(seconds[0]! - seconds[1]!).toBeLessThanOrEqual(2);
    });

    it('charges a cost, a constant or a function’s', async () => {
      const two = await start([{ ...three, cost: 2 }]);
      const answers = [await fetch(two.url), await fetch(two.url)];
      expect(
        answers.map((one) => [one.status, limitHeaders(one)['ratelimit']?.match(/;c=\d+/)?.[0]]),
      ).toEqual([
        [200, ';c=2'],
        [429, ';c=2'],
      ]);
      const own = await start([
        { ...three, name: 'own', cost: (context) => Number(queryOf(context)['cost']) },
      ]);
      const send = (cost: number) => fetch(`${own.url}?cost=${cost}`);
      expect([(await send(0)).status, (await send(3)).status, (await send(0)).status]).toEqual([
        200, 200, 200,
      ]);
      expect((await send(1)).status).toBe(429);
    });

    it('never passes with a cost above the limit, which begins no block', async () => {
      const { url } = await start([{ ...three, cost: (context) => Number(queryOf(context)['cost']) }]);
      const send = (cost: number) => fetch(`${url}?cost=${cost}`);
      const response = await send(4);
      const { message } = (await response.json()) as { message: string };
      expect(response.status).toBe(429);
      expect(message.includes('costs more than a limit allows at once')).toBe(isBucket(counter));
      expect((await send(3)).status).toBe(200);
    });

    it('denies everything with a limit of 0, and leaves no client blocked when it is raised', async () => {
      let limit = 0;
      const { url } = await start([{ ...three, limit: () => limit }]);
      expect(await statuses(2, () => fetch(url))).toEqual([429, 429]);
      limit = 3;
      expect(await statuses(4, () => fetch(url))).toEqual([200, 200, 200, 429]);
    });

    it('is left out of headers if it is hidden', async () => {
      const { url } = await start([{ ...three, hidden: true }], { errorFormat: 'problem' });
      const seen = [];
      for (let i = 0; i < 4; i++) seen.push(await fetch(url));
      expect(seen.map((one) => [one.status, one.headers.get('ratelimit')])).toEqual(
        [200, 200, 200, 429].map((status) => [status, null]),
      );
      const denied = (await seen[3]!.json()) as Record<string, unknown>;
      expect(denied).toMatchObject({ status: 429, 'violated-policies': [] });
      expect(Number(seen[3]!.headers.get('retry-after'))).toBe(denied['retryAfter']);
    });

    it('is skipped for a request by skipIf', async () => {
      const { url } = await start([{ ...three, skipIf: (context) => queryOf(context)['skip'] === 'yes' }]);
      await statuses(4, () => fetch(url));
      expect(await statuses(2, () => fetch(`${url}?skip=yes`))).toEqual([200, 200]);
      expect((await fetch(url)).status).toBe(429);
    });
  });
});

function hasLadder(counter: CounterName): boolean {
  return Array.isArray((THREE[counter] as { blockFor?: unknown }).blockFor);
}

describe.each(KINDS)('a shadow rule in %s', (kind) => {
  const SHADOWS = {
    'a fixed window': { window: '1h', limit: 2 },
    'a fixed window with a block': { window: '1h', limit: 2, blockFor: '2h' },
    'a sliding window': { window: '1h', limit: 2, algorithm: 'sliding-window' },
    'a sliding window with a block': { window: '1h', limit: 2, algorithm: 'sliding-window', blockFor: '2h' },
    'a token bucket with a block': { window: '1d', limit: 2, algorithm: 'token-bucket', blockFor: '2d' },
    'a calendar window': { window: { calendar: 'year' }, limit: 2 },
  } as const;

  it.each(Object.entries(SHADOWS))('never denies and begins no block: %s', async (_, rule) => {
    const events: FreqLimitEvent[] = [];
    const onVerdict = (event: FreqLimitEvent): void => void events.push(event);
    const real = { window: '1h', limit: 5, name: 'real', countWhen: 'success' } as const;
    const rules = [FreqLimit(real), FreqLimit({ ...rule, name: 'tried', shadow: true })];
    const limits = { ...limitsIn(kind, suite), onVerdict, headers: 'both' } as const;
    const { url } = await startApp('express', { controllers: [limited(...rules)], limits });
    const seen = [];
    for (let i = 0; i < 4; i++) {
      // a request that is refunded in the end sets its headers again
      const response = await fetch(i === 2 ? `${url}?status=400` : url);
      seen.push([response.status, limitHeaders(response)['retry-after'], Object.keys(remaining(response))]);
    }
    expect(seen).toEqual([200, 200, 400, 200].map((status) => [status, undefined, ['real']]));
    const tried = events.map(({ verdict }) => verdict.results[1]);
    expect(tried.map((one) => [one?.shadow, one?.allowed, one?.used, one?.remaining, one?.blocked])).toEqual([
      [true, true, 1, 1, undefined],
      [true, true, 2, 0, undefined],
      [true, false, 2, 0, undefined],
      [true, false, 2, 0, undefined],
    ]);
    expect(events.map(({ verdict }) => [verdict.allowed, verdict.tightest?.name])).toEqual(
      events.map(() => [true, 'real']),
    );
    expect(lines.filter((line) => line.startsWith('FREQ_LIMIT_SHADOW_DENIED'))).toHaveLength(1);
  });
});

describe.each(COUNTERS)('keys hashed by a secret, %s', (counter) => {
  it('contain no value of a client, and the service finds their counters', async () => {
    const controller = limited(
      FreqLimit({ ...THREE[counter], name: 'x', key: '{headers.x-phone}' } as FreqLimitRule),
    );
    const limits = { ...limitsIn('redis', suite), hashKeys: { secret: 'correct horse battery staple' } };
    const { app, url } = await startApp('express', { controllers: [controller], limits });
    const send = () => fetch(url, { headers: { 'x-phone': '13800000000' } });
    expect(await statuses(4, send)).toEqual([200, 200, 200, 429]);
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys.join('\n')).not.toContain('138');
    const check = { rule: 'x', controller, handler: 'call', key: '13800000000' };
    const service = app.get(FreqLimitService);
    const verdict: Verdict = await service.peek(check);
    expect(verdict.tightest).toMatchObject({ allowed: false, used: 3, name: 'x' });
    await service.reset(check);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    expect(await statuses(4, send)).toEqual([200, 200, 200, 429]);
  });
});
