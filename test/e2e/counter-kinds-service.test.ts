import { type CounterCheck, FreqLimit, FreqLimitService, type Verdict } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp, statuses } from '../support/app.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import { type CounterName, COUNTERS, hasBlock, limited, THREE } from '../support/limited.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const checkOf = (counter: CounterName, key = 'ann') =>
  ({ ...THREE[counter], name: 'own', key }) as CounterCheck;

const numbersOf = ({ allowed, results }: Verdict) => [
  allowed,
  ...results.map(({ used, remaining }) => [used, remaining]),
];

describe.each(KINDS)('FreqLimitService in %s', (kind) => {
  const start = async (options = {}) => {
    const { app } = await startApp('express', { limits: { ...limitsIn(kind, suite), ...options } });
    return app.get(FreqLimitService);
  };

  describe.each(COUNTERS)('%s', (counter) => {
    it('is consumed, peeked at and reset', async () => {
      const service = await start();
      const check = checkOf(counter);
      expect(numbersOf(await service.peek(check))).toEqual([true, [0, 3]]);
      for (const used of [1, 2, 3]) {
        expect(numbersOf(await service.consume(check))).toEqual([true, [used, 3 - used]]);
        const { tightest } = await service.peek({ ...check, cost: 0 });
        expect(tightest).toMatchObject({ allowed: true, used, retryAfterMs: 0 });
      }
      const before = await service.peek(check);
      expect(before.tightest).toMatchObject({ allowed: false, used: 3, remaining: 0 });
      expect(before.tightest?.blocked).toBeUndefined();
      const { tightest } = await service.consume(check);
      expect(tightest?.blocked).toBe(hasBlock(counter) ? true : undefined);
      // no wait passes between the two, apart from some milliseconds
      const peeked = (await service.peek(check)).tightest;
      expect(tightest!.retryAfterMs - peeked!.retryAfterMs).toBeLessThan(1_000);
      await service.reset(check);
      expect(kind === 'redis' ? await keysOf(suite.client, suite.namespace) : []).toEqual([]);
      expect(numbersOf(await service.consume(check))).toEqual([true, [1, 2]]);
    });

    it('allows exactly its limit to concurrent calls, each with its own numbers', async () => {
      const service = await start({ denyCache: false });
      const verdicts = await Promise.all(Array.from({ length: 20 }, () => service.consume(checkOf(counter))));
      const passed = verdicts.filter(({ allowed }) => allowed);
      expect(passed.map(({ tightest }) => tightest?.used)).toEqual([1, 2, 3]);
      expect(passed.map(({ tightest }) => tightest?.remaining)).toEqual([2, 1, 0]);
    });

    it('costs several units, and never passes with more than its limit', async () => {
      const service = await start();
      const check = { ...checkOf(counter), cost: 2 };
      expect((await service.consume({ ...check, cost: 4 })).tightest).toMatchObject({
        allowed: false,
        used: 0,
      });
      expect(numbersOf(await service.consume(check))).toEqual([true, [2, 1]]);
      const denied = await service.consume(check);
      expect(denied.tightest).toMatchObject({ allowed: false, remaining: hasBlock(counter) ? 0 : 1 });
    });

    it('shares its counter with the guard, by the name of the rule', async () => {
      const controller = limited(FreqLimit({ ...THREE[counter], name: 'x', key: '{query.user}' }));
      const limits = { ...limitsIn(kind, suite), denyCache: false };
      const { app, url } = await startApp('express', { controllers: [controller], limits });
      const service = app.get(FreqLimitService);
      const check = { rule: 'x', controller, handler: 'call', key: 'ann' };
      expect(await statuses(2, () => fetch(`${url}?user=ann`))).toEqual([200, 200]);
      expect(numbersOf(await service.consume(check))).toEqual([true, [3, 0]]);
      expect(await statuses(1, () => fetch(`${url}?user=ann`))).toEqual([429]);
      expect((await service.peek(check)).tightest?.blocked).toBe(hasBlock(counter) ? true : undefined);
      await service.reset(check);
      expect(await statuses(1, () => fetch(`${url}?user=ann`))).toEqual([200]);
    });
  });

  it('decides a list of all kinds all or none', async () => {
    const service = await start({ denyCache: false });
    const checks = COUNTERS.map((counter, i) => ({ ...checkOf(counter), name: `n${i}` }));
    for (const used of [1, 2, 3]) {
      expect(numbersOf(await service.consume(checks))).toEqual([true, ...checks.map(() => [used, 3 - used])]);
    }
    const extra = { key: 'ann', window: '1h', limit: 9, name: 'extra' } as const;
    const verdict = await service.consume([...checks, extra]);
    expect(verdict.results.map(({ allowed }) => allowed)).toEqual([...checks.map(() => false), true]);
    expect(verdict.results.at(-1)).toMatchObject({ used: 0, remaining: 9 });
    await service.reset(checks);
    expect(numbersOf(await service.peek(checks))).toEqual([true, ...checks.map(() => [0, 3])]);
  });

  const SHORT = {
    'a fixed window': { window: '400ms', limit: 2 },
    'a sliding window': { window: '400ms', limit: 2, algorithm: 'sliding-window' },
    'a token bucket': { window: '400ms', limit: 2, algorithm: 'token-bucket' },
    'a block': { window: '100ms', limit: 2, blockFor: '400ms' },
  } as const;

  it.each(Object.entries(SHORT))('lets a client pass that waits as long as it says: %s', async (_, rule) => {
    const service = await start();
    const check = { ...rule, key: 'ann' } as CounterCheck;
    for (let round = 0; round < 3; round++) {
      let verdict = await service.consume(check);
      while (verdict.allowed) verdict = await service.consume(check);
      const { retryAfterMs } = verdict.tightest!;
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(430);
      const from = performance.now();
      await sleep(Math.max(0, retryAfterMs - 60));
      const early = await service.consume(check);
      const isEarly = performance.now() - from < retryAfterMs - 10;
      expect(early.allowed && isEarly).toBe(false);
      if (!early.allowed) await sleep(early.tightest!.retryAfterMs + 2);
      expect(early.allowed || (await service.consume(check)).allowed).toBe(true);
    }
  });
});

describe('a client that waits, by the clock of a test', () => {
  it.each(COUNTERS)('passes after retryAfterMs, and not a millisecond before: %s', async (counter) => {
    const clock = new TestClock();
    const { app } = await startApp('express', {}, (builder) => useMemoryStore(builder, clock));
    const service = app.get(FreqLimitService);
    const check = checkOf(counter);
    for (let i = 0; i < 3; i++) {
      await service.consume(check);
      clock.advance('7m');
    }
    const denied = await service.consume({ ...check, cost: 2 });
    const waitMs = denied.tightest!.retryAfterMs;
    expect(denied.allowed).toBe(false);
    // each call moves the clock by one millisecond more
    clock.advance(`${waitMs - 2}ms`);
    const { tightest } = await service.peek({ ...check, cost: 2 });
    expect(tightest).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance('1ms');
    expect((await service.consume({ ...check, cost: 2 })).allowed).toBe(true);
  });
});
