import type { ExecutionContext } from '@nestjs/common';
import { FreqLimit, type FreqLimitOptions, type FreqLimitRule, FreqLimitService } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders } from '../support/http.js';
import { EVERYWHERE, type Kind, limitsIn } from '../support/kinds.js';
import { limited } from '../support/limited.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const blocking = { window: '1m', limit: 2, blockFor: ['10m', '1h'], name: 'x' } as const;
const queryOf = (context: ExecutionContext): Record<string, string> =>
  context.switchToHttp().getRequest<{ query: Record<string, string> }>().query;

describe.each(EVERYWHERE)('blocks on %s, in %s', (platform, kind: Kind) => {
  const start = async (rules: readonly FreqLimitRule[], options: FreqLimitOptions = {}) => {
    const controller = limited(...rules.map((rule) => FreqLimit(rule)));
    const limits = { ...limitsIn(kind, suite), denyCache: false, ...options };
    const { app, url } = await startApp(platform, { controllers: [controller], limits });
    return { url, controller, service: app.get(FreqLimitService) };
  };

  it('begin with the request that crosses the limit, and say their end everywhere', async () => {
    const { url, service, controller } = await start([blocking], { headers: 'both', errorFormat: 'problem' });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    const denied = await fetch(url);
    expect(limitHeaders(denied)).toEqual({
      'ratelimit-policy': '"x";q=2;w=60',
      ratelimit: '"x";a=0;w=600',
      'retry-after': '600',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '600',
    });
    expect(await denied.json()).toMatchObject({
      status: 429,
      detail: 'Too many requests. Try again in 10 minutes.',
      'violated-policies': ['x'],
      retryAfter: 600,
    });
    const check = { rule: 'x', controller, handler: 'call', key: '127.0.0.1' };
    const { allowed, tightest } = await service.peek(check);
    expect([allowed, tightest?.blocked, tightest?.used, tightest?.remaining]).toEqual([false, true, 2, 0]);
    expect(tightest?.retryAfterMs).toBe(tightest?.resetAfterMs);
  });

  it('are seen by hooks and message functions', async () => {
    const seen: (true | undefined)[] = [];
    const options: FreqLimitOptions = {
      onVerdict: ({ verdict }) => void seen.push(verdict.tightest?.blocked),
      message: ({ tightest }) => (tightest?.blocked === true ? 'blocked' : 'denied'),
    };
    const { url } = await start(
      [{ ...blocking, cost: (context) => Number(queryOf(context)['cost']) }],
      options,
    );
    const messages = [];
    for (const cost of [1, 3, 1, 1, 1]) {
      const { message } = (await (await fetch(`${url}?cost=${cost}`)).json()) as { message?: string };
      messages.push(message);
    }
    expect(messages).toEqual([undefined, 'denied', undefined, 'blocked', 'blocked']);
    expect(seen).toEqual([undefined, undefined, undefined, true, true]);
  });

  it('are not extended by denied requests, also with countDenied', async () => {
    const short = { window: '300ms', limit: 1, blockFor: '600ms', countDenied: true } as const;
    const { url } = await start([short]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    const end = performance.now() + 600;
    while (performance.now() < end - 100) expect(await statuses(1, () => fetch(url))).toEqual([429]);
    await sleep(120);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
  });

  it('are not cut short by requests of any cost', async () => {
    const { url } = await start([{ ...blocking, cost: (context) => Number(queryOf(context)['cost'] ?? 1) }]);
    await statuses(3, () => fetch(url));
    for (const cost of [0, 1, 3, 1e6]) {
      const { status, headers } = await fetch(`${url}?cost=${cost}`);
      expect([status, Number(headers.get('retry-after'))]).toEqual([429, 600]);
    }
    const left = await fetch(url);
    expect(left.headers.get('retry-after')).toBe('600');
  });

  it('are lifted by reset, which also forgets the steps', async () => {
    const { url, service, controller } = await start([blocking]);
    const check = { rule: 'x', controller, handler: 'call', key: '127.0.0.1' };
    for (let i = 0; i < 2; i++) {
      expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
      expect((await fetch(url)).headers.get('retry-after')).toBe('600');
      await service.reset(check);
    }
  });

  it('of the service are forgotten by a reset that does not mention them', async () => {
    const { service } = await start([]);
    const plain = { name: 'own', key: 'ann', window: '1m', limit: 1 } as const;
    const check = { ...plain, blockFor: ['10m', '1h'] } as const;
    for (let i = 0; i < 2; i++) {
      await service.consume(check);
      const { tightest } = await service.consume(check);
      expect([tightest?.blocked, tightest?.retryAfterMs]).toEqual([true, 600_000]);
      await service.reset(plain);
    }
    expect(kind === 'redis' ? await keysOf(suite.client, suite.namespace) : []).toEqual([]);
  });

  it('begin for a rule that denies together with another one', async () => {
    const other = { window: '1s', limit: 2, name: 'other' } as const;
    const { url, service, controller } = await start([other, blocking]);
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 429]);
    const check = { rule: 'x', controller, handler: 'call', key: '127.0.0.1' };
    expect((await service.peek(check)).tightest?.blocked).toBe(true);
  });

  it('do not begin by a peek, nor by a cost of 0', async () => {
    const { url, service, controller } = await start([
      { ...blocking, cost: (context) => Number(queryOf(context)['cost'] ?? 1) },
    ]);
    const check = { rule: 'x', controller, handler: 'call', key: '127.0.0.1' };
    await statuses(2, () => fetch(url));
    const { tightest } = await service.peek(check);
    expect([tightest?.allowed, tightest?.blocked]).toEqual([false, undefined]);
    expect(await statuses(1, () => fetch(`${url}?cost=0`))).toEqual([200]);
    expect((await service.peek(check)).tightest?.blocked).toBeUndefined();
  });

  it('let one of many concurrent requests begin the block, and no more pass', async () => {
    const { url } = await start([{ ...blocking, limit: 5 }]);
    const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(url)));
    const seen = answers.map(({ status }) => status);
    expect(seen.filter((status) => status === 200)).toHaveLength(5);
    const waits = answers.map(({ headers }) => headers.get('retry-after')).filter((wait) => wait !== null);
    expect(new Set(waits)).toEqual(new Set(['600']));
  });
});

describe.each(PLATFORMS)('a ladder of blocks by the clock of a test, on %s', (platform) => {
  async function start(rule: FreqLimitRule) {
    const clock = new TestClock();
    const parts = { controllers: [limited(FreqLimit(rule))], limits: { denyCache: false } };
    const { url } = await startApp(platform, parts, (builder) => useMemoryStore(builder, clock));
    /** Sends requests until one is denied: how many passed, and how long the client must wait. */
    const cross = async (): Promise<unknown[]> => {
      for (let passed = 0; ; passed++) {
        const { status, headers } = await fetch(url);
        if (status !== 200) return [passed, headers.get('retry-after')];
      }
    };
    return { url, clock, cross };
  }

  it('takes the next step at each crossing, repeats the last one, and forgives', async () => {
    const { clock, cross } = await start({ ...blocking, forgiveAfter: '2h' });
    expect(await cross()).toEqual([2, '600']);
    clock.advance('9m');
    expect(await cross()).toEqual([0, '60']);
    clock.advance('1m');
    for (let i = 0; i < 3; i++) {
      expect(await cross()).toEqual([2, '3600']);
      clock.advance('1h');
    }
    // two hours after the end of the last block
    clock.advance('119m');
    expect(await cross()).toEqual([2, '3600']);
    clock.advance('1h');
    clock.advance('2h');
    expect(await cross()).toEqual([2, '600']);
  });

  it.each([
    ['a sliding window', { algorithm: 'sliding-window', blockFor: '1m' }, 64],
    ['a token bucket', { algorithm: 'token-bucket', burst: 4, blockFor: '1s' }, 120],
  ] as const)('lasts until %s is as new, and gives all units back', async (_, parts, atMost) => {
    const { clock, cross } = await start({ window: '1m', limit: 2, ...parts });
    const [passed, wait] = await cross();
    expect(passed).toBe(parts.algorithm === 'token-bucket' ? 4 : 2);
    expect(Number(wait)).toBeGreaterThanOrEqual(60);
    expect(Number(wait)).toBeLessThanOrEqual(atMost);
    clock.advance(`${Number(wait)}s`);
    expect((await cross())[0]).toBe(passed);
  });
});
