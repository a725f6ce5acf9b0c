import type { INestApplication, Type } from '@nestjs/common';
import { FreqLimitService, type Verdict } from 'nestjs-freq-limit';
import { useMemoryStore, expectLimited, expectNotLimited, TestClock } from 'nestjs-freq-limit/testing';
import { AccountModule } from '../../examples/migrating/from-express-rate-limit.js';
import { LoginLimits, LoginLimitsModule } from '../../examples/migrating/from-rate-limiter-flexible.js';
import { closeApps, type Platform, PLATFORMS, serve } from '../support/app.js';
import { post } from '../support/http.js';

afterEach(closeApps);

/** An example, counting in memory whatever the environment of the tests is. */
async function start(
  platform: Platform,
  module: Type,
): Promise<{ app: INestApplication; url: string; clock: TestClock }> {
  const clock = new TestClock();
  const app = await serve(platform, { imports: [module] }, (builder) => useMemoryStore(builder, clock));
  return { ...app, clock };
}

describe.each(PLATFORMS)('coming from elsewhere, on %s', (platform) => {
  it('writes the middlewares as rules', async () => {
    const { url, clock } = await start(platform, AccountModule);
    const login = (user: string) => (): Promise<Response> => post(`${url}/login`, { user });
    await expectLimited(login('ann'), { passes: 2, retryAfter: 900 });
    // the three were requests of the whole application, and filled its minute
    await expectLimited(() => fetch(`${url}/account`), { passes: 0, retryAfter: 60 });
    await expectNotLimited(() => fetch(`${url}/health`), { requests: 5 });
    clock.advance('1m');
    await expectLimited(login('ann'), { passes: 0 });
    await expectLimited(login('bob'), { passes: 2, retryAfter: 900 });
  });

  it('replaces calls of limiters by calls of the service', async () => {
    const { app, clock } = await start(platform, LoginLimitsModule);
    const limits = app.get(LoginLimits);
    for (const left of [4, 3, 2, 1, 0]) {
      expect(await limits.attempt('ann', '::1')).toBe(0);
      expect(await limits.attemptsLeft('ann', '::1')).toBe(left);
    }
    // the clock does not move: the window has just opened, and its last millisecond belongs to it
    expect(await limits.attempt('ann', '::1')).toBe(901);
    expect(await limits.attempt('ann', '::2')).toBe(0);
    await limits.succeeded('ann', '::1');
    expect(await limits.attemptsLeft('ann', '::1')).toBe(5);
    const mails = [await limits.mayMail('ann'), await limits.mayMail('ann'), await limits.mayMail('ann')];
    clock.advance('1m');
    expect([...mails, await limits.mayMail('ann')]).toEqual([true, true, false, true]);
  });

  it('adds a penalty to the counter of a limiter, above its limit too', async () => {
    const { app } = await start(platform, LoginLimitsModule);
    const limits = app.get(FreqLimitService);
    const check = { name: 'login', key: 'ann', window: '15m', limit: 2 } as const;
    const used = async (verdict: Promise<Verdict>): Promise<unknown> => {
      const { allowed, results } = await verdict;
      return [allowed, results[0]?.used];
    };
    expect(await used(limits.peek(check))).toEqual([true, 0]);
    expect(await used(limits.consume(check))).toEqual([true, 1]);
    expect(await used(limits.consume({ ...check, limit: undefined, cost: 5 }))).toEqual([true, 6]);
    expect(await used(limits.consume(check))).toEqual([false, 6]);
  });
});
