import { Controller, Get } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FreqLimit,
  type FreqLimitOptions,
  FreqLimitService,
  type Held,
  type HoldCheck,
  type HoldResult,
  type Verdict,
} from 'nestjs-freq-limit';
import { LEASE_TIMES } from '../../src/core/leases.js';
import { startApp, type TestApp } from '../support/app.js';
import { KINDS, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { slotsTaken, untilTaken, Work } from '../support/slots.js';

captureLog();
const work = new Work();
const times = { ...LEASE_TIMES };

afterEach(() => {
  work.finish();
  work.most = 0;
  Object.assign(LEASE_TIMES, times);
});

const suite = redisSuite();

const two: HoldCheck = { name: 'workers', key: 'queue', concurrency: 2 };

@Controller()
class Exports {
  @Get()
  @FreqLimit({ name: 'slots', concurrency: 1, key: '{query.user}' })
  async get() {
    await work.run();
  }
  @Get('free')
  @FreqLimit({ name: 'free', concurrency: () => 3, key: 'all' })
  free() {
    return 'ok';
  }
  @Get('rate')
  @FreqLimit({ name: 'rate', window: '1m', limit: 3, key: 'all' })
  rate() {
    return 'ok';
  }
}

describe.each(KINDS)('hold, %s', (kind) => {
  const start = async (limits: FreqLimitOptions = {}): Promise<TestApp & { service: FreqLimitService }> => {
    const server = await startApp('express', {
      controllers: [Exports],
      limits: { ...limitsIn(kind, suite), ...limits },
    });
    return { ...server, service: server.app.get(FreqLimitService) };
  };

  it('runs a function with a slot, and returns its value', async () => {
    const { app, service } = await start();
    const seen: Held[] = [];
    const result: HoldResult<string> = await service.hold(two, async (held) => {
      seen.push(held);
      expect(await slotsTaken(app, two)).toBe(1);
      return 'done';
    });
    expect(result).toEqual({ allowed: true, verdict: seen[0]?.verdict, value: 'done' });
    expect(result.verdict.results).toEqual([
      {
        ...{ name: 'workers', allowed: true, limit: 2, windowMs: 15_000, cost: 1, used: 1, remaining: 1 },
        ...{ resetAfterMs: 1_000, retryAfterMs: 0, source: 'store', concurrency: true },
      },
    ]);
    expect(seen[0]?.signal.aborted).toBe(false);
    await untilTaken(app, two, 0);
  });

  it('runs no more at once, and does not call the function if none is free', async () => {
    const { app, service } = await start();
    const results = Promise.all(Array.from({ length: 9 }, () => service.hold(two, () => work.run())));
    await work.untilRunning(2);
    await sleep(20);
    work.finish();
    const allowed = (await results).map((one) => one.allowed);
    expect(allowed.filter(Boolean)).toHaveLength(2);
    expect(work.most).toBe(2);
    const denied = (await results).find((one) => !one.allowed);
    expect(denied?.verdict.tightest).toMatchObject({
      allowed: false,
      retryAfterMs: 1_000,
      concurrency: true,
    });
    await untilTaken(app, two, 0);
  });

  it('releases the slot if the function throws, also at once', async () => {
    const { app, service } = await start();
    await expect(service.hold(two, () => Promise.reject(new Error('later')))).rejects.toThrow('later');
    const throwing = (): never => {
      throw new Error('now');
    };
    await expect(service.hold(two, throwing)).rejects.toThrow('now');
    await untilTaken(app, two, 0);
  });

  it('decides rates and slots together', async () => {
    const verdicts: Verdict[] = [];
    const { app, service } = await start({ onVerdict: ({ verdict }) => verdicts.push(verdict) });
    const rate = { name: 'rate', key: 'queue', window: '1m', limit: 1 } as const;
    expect((await service.hold([rate, two], () => 1)).allowed).toBe(true);
    expect((await service.hold([two, rate], () => 1)).allowed).toBe(false);
    await untilTaken(app, two, 0);
    expect((await service.peek(rate)).results[0]?.used).toBe(1);
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(await service.hold([], () => 1)).toMatchObject({ allowed: true, value: 1 });
  });

  it('shares the slots of a rule with the guard', async () => {
    const { app, service, url } = await start();
    const slots: HoldCheck = { controller: Exports, handler: 'get', rule: 'slots', key: 'ada' };
    const request = fetch(`${url}?user=ada`);
    await work.untilRunning(1);
    expect((await service.hold(slots, () => 1)).allowed).toBe(false);
    work.finish();
    await request;
    await untilTaken(app, slots, 0);
    await service.hold(slots, async () => {
      expect((await fetch(`${url}?user=ada`)).status).toBe(429);
    });
    const free: HoldCheck = { controller: Exports, handler: 'free', rule: 'free', concurrency: 2 };
    expect((await service.hold(free, () => 1)).allowed).toBe(true);
  });

  it('may be reset: then all slots are free', async () => {
    const { app, service } = await start();
    const running = [service.hold(two, () => work.run()), service.hold(two, () => work.run())];
    await work.untilRunning(2);
    expect(await slotsTaken(app, two)).toBe(2);
    await service.reset({ name: 'workers', key: 'queue', concurrency: 2 });
    expect(await slotsTaken(app, two)).toBe(0);
    work.finish();
    await Promise.all(running);
  });

  it('keeps the slot of work that takes longer than the life of a lease', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 300, renewEveryMs: 100 });
    const { app, service } = await start();
    const held = service.hold(two, () => work.run());
    await work.untilRunning(1);
    for (let i = 0; i < 10; i++) {
      await sleep(100);
      expect(await slotsTaken(app, two)).toBe(1);
    }
    work.finish();
    await held;
    await untilTaken(app, two, 0);
  });

  it('aborts its signal at shutdown, when the slot is released', async () => {
    const { app, service } = await start();
    let signal: AbortSignal | undefined;
    const held = service.hold(two, async (given) => {
      ({ signal } = given);
      await work.run();
    });
    await work.untilRunning(1);
    await app.close();
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toEqual(new Error('The application shuts down, so the slot is released'));
    work.finish();
    await held;
  });

  const WRONG: [string, (service: FreqLimitService) => Promise<unknown>, string][] = [
    [
      'consume with concurrency',
      (service) => service.consume(two as never),
      'consume: check: concurrency: is only possible in hold, because a slot must be released; write hold(checks, async () => …)',
    ],
    [
      'consume with a rule that has it',
      (service) => service.consume({ controller: Exports, handler: 'get', rule: 'slots', key: 'a' }),
      'consume: check: rule: the rule "slots" has concurrency, which is only possible in hold, because a slot must be released; ' +
        'write hold(checks, async () => …)',
    ],
    [
      'no function',
      (service) => service.hold(two, undefined as never),
      'hold: undefined is not a function; write hold({ key, concurrency: 5 }, async () => …)',
    ],
    [
      'a window',
      (service) => service.hold({ ...two, window: '1m' } as never, () => 1),
      'hold: check: window: is not possible with concurrency, which counts what runs now; remove window, or write a second check ' +
        'with window and limit',
    ],
    [
      'a wrong concurrency',
      (service) => service.hold({ key: 'a', concurrency: -1 }, () => 1),
      'hold: check: concurrency: -1 is not a whole number from 0 to 2^53 - 1',
    ],
    [
      'a limit for a rule with concurrency',
      (service) =>
        service.hold({ controller: Exports, handler: 'get', rule: 'slots', key: 'a', limit: 3 }, () => 1),
      'hold: check: limit: the rule "slots" has no limit; remove this option',
    ],
    [
      'a concurrency for a rule with a limit',
      (service) =>
        service.hold({ controller: Exports, handler: 'rate', rule: 'rate', concurrency: 3 }, () => 1),
      'hold: check: concurrency: the rule "rate" has no concurrency; remove this option',
    ],
    [
      'a window for a rule with concurrency',
      (service) =>
        service.hold({ controller: Exports, handler: 'get', rule: 'slots', key: 'a', window: '1m' }, () => 1),
      'hold: check: window: the rule "slots" has no window; remove this option',
    ],
    [
      'a function without its value',
      (service) => service.hold({ controller: Exports, handler: 'free', rule: 'free' }, () => 1),
      'hold: check: concurrency: is missing; the concurrency of the rule "free" is a function, so pass a number',
    ],
    [
      'no key',
      (service) => service.hold({ concurrency: 2 } as never, () => 1),
      'hold: check: key: undefined is not a value to count by; expected a string that is not empty, a number or a boolean',
    ],
  ];
  it.each(WRONG)('rejects %s', async (_, call, message) => {
    const { service } = await start();
    await expect(call(service)).rejects.toThrow(message);
  });
});
