import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { FreqLimit, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { TestClock, useMemoryStore } from 'nestjs-freq-limit/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { PLATFORMS, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { post } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();

/** Log-ins that wait for this promise. */
let slow: Promise<void> = Promise.resolve();

@Controller('login')
class Login {
  @Post()
  @HttpCode(200)
  @FreqLimit({
    name: 'wrong',
    window: '1m',
    limit: 3,
    key: '{body.user}',
    normalize: 'email',
    countWhen: 'failure',
    blockFor: ['1m', '10m', '1h'],
  })
  async login(@Body() { password, waits }: { password: string; waits?: boolean }) {
    if (waits === true) await slow;
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }
}

const check = (user: string) => ({ rule: 'wrong', controller: Login, handler: 'login', key: user });

function clientOf(url: string) {
  const login = (user: string, password: string, waits = false): Promise<Response> =>
    post(`${url}/login`, { user, password, waits });
  const tries = async (user: string, ...passwords: string[]): Promise<number[]> => {
    const seen = [];
    for (const password of passwords) seen.push((await login(user, password)).status);
    return seen;
  };
  return { login, tries };
}

describe.each(EVERYWHERE)('a protected log-in on %s, in %s', (platform, kind) => {
  const start = async (options: FreqLimitOptions = {}) => {
    const limits = { ...limitsIn(kind, suite), ...options };
    const { app, url } = await startApp(platform, { controllers: [Login], limits });
    return { ...clientOf(url), service: app.get(FreqLimitService) };
  };

  it('counts wrong passwords of a user only, and blocks that user alone', async () => {
    const { login, tries } = await start();
    expect(await tries('ann@x.org', ...Array<string>(9).fill('right'))).toEqual(Array<number>(9).fill(200));
    expect(await tries('ann@x.org', 'a', 'right', 'b', 'right', 'c')).toEqual([401, 200, 401, 200, 401]);
    // the right password does not help any more: a guess would be as good
    const denied = await login('Ann@X.org', 'right');
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await denied.json()).toMatchObject({ message: 'Too many requests. Try again in 1 minute.' });
    expect(await tries('bob@x.org', 'a', 'b', 'right')).toEqual([401, 401, 200]);
    expect(await tries('ann@x.org', 'right', 'a')).toEqual([429, 429]);
  });

  it('tries no more passwords than its limit, however many come at once', async () => {
    const { login } = await start();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => login('ann@x.org', `guess${i}`)));
    const tried = answers.filter(({ status }) => status === 401);
    expect(tried).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(47);
  });

  it('does not lift a block by the refund of a log-in that began before it', async () => {
    const { login, tries, service } = await start();
    let release!: () => void;
    slow = new Promise<void>((resolve) => (release = resolve));
    const pending = [login('ann@x.org', 'right', true), login('ann@x.org', 'right', true)];
    await until(async () => (await service.peek(check('ann@x.org'))).tightest?.used === 2);
    expect(await tries('ann@x.org', 'wrong', 'wrong')).toEqual([401, 429]);
    release();
    const answers = await Promise.all(pending);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { tightest } = await service.peek(check('ann@x.org'));
    expect([tightest?.blocked, tightest?.allowed]).toEqual([true, false]);
    expect(tightest?.retryAfterMs).toBeGreaterThan(58_000);
    expect(await tries('ann@x.org', 'right')).toEqual([429]);
  });

  it('shows the block in the headers of a log-in that began before it', async () => {
    const { login, tries, service } = await start();
    let release!: () => void;
    slow = new Promise<void>((resolve) => (release = resolve));
    const pending = login('ann@x.org', 'right', true);
    await until(async () => (await service.peek(check('ann@x.org'))).tightest?.used === 1);
    expect(await tries('ann@x.org', 'a', 'b', 'c')).toEqual([401, 401, 429]);
    release();
    const answer = await pending;
    expect([answer.status, answer.headers.get('ratelimit'), answer.headers.get('retry-after')]).toEqual([
      200,
      '"wrong";a=0;w=60',
      null,
    ]);
  });

  it('is helped by support: reset lets a user in again', async () => {
    const { tries, service } = await start();
    expect(await tries('ann@x.org', 'a', 'b', 'c', 'd')).toEqual([401, 401, 401, 429]);
    await service.reset(check('ann@x.org'));
    expect(await tries('ann@x.org', 'right', 'a', 'b', 'c', 'd')).toEqual([200, 401, 401, 401, 429]);
  });
});

describe.each(PLATFORMS)('a protected log-in by the clock of a test, on %s', (platform) => {
  it('makes an attacker wait longer each time, and forgives after a day', async () => {
    const clock = new TestClock();
    const parts = { controllers: [Login] };
    const { url } = await startApp(platform, parts, (builder) => useMemoryStore(builder, clock));
    const { login, tries } = clientOf(url);
    const round = async (): Promise<string | null> => {
      expect(await tries('ann@x.org', 'a', 'b', 'c')).toEqual([401, 401, 401]);
      const denied = await login('ann@x.org', 'd');
      expect(denied.status).toBe(429);
      return denied.headers.get('retry-after');
    };
    expect(await round()).toBe('60');
    clock.advance('1m');
    expect(await round()).toBe('600');
    clock.advance('10m');
    for (let i = 0; i < 3; i++) {
      expect(await round()).toBe('3600');
      clock.advance('1h');
    }
    // a success in between changes nothing about the steps
    expect(await tries('ann@x.org', 'right')).toEqual([200]);
    clock.advance('1d');
    expect(await round()).toBe('60');
  });
});

describe('a protected log-in in two processes', () => {
  it('is blocked in both', async () => {
    const limits = limitsIn('redis', suite);
    const apps = await Promise.all(PLATFORMS.map((one) => startApp(one, { controllers: [Login], limits })));
    const [first, second] = apps.map(({ url }) => clientOf(url)) as [
      ReturnType<typeof clientOf>,
      ReturnType<typeof clientOf>,
    ];
    expect(await first.tries('ann@x.org', 'a', 'b')).toEqual([401, 401]);
    expect(await second.tries('ann@x.org', 'c', 'd')).toEqual([401, 429]);
    expect(await first.tries('ann@x.org', 'right')).toEqual([429]);
    await sleep(10);
    const waits = [await first.login('ann@x.org', 'right'), await second.login('ann@x.org', 'right')];
    expect(waits.map(({ headers }) => headers.get('retry-after'))).toEqual(['60', '60']);
  });
});
