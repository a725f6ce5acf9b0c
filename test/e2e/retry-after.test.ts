import { type ArgumentsHost, Controller, Get } from '@nestjs/common';
import { jest } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, FreqLimitExceededException, type FreqLimitOptions } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { limitHeaders } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

@Controller()
class Waits {
  @Get('ten')
  @FreqLimit('10s', 1)
  ten() {
    return 'ok';
  }
  @Get('one')
  @FreqLimit('1s', 1)
  one() {
    return 'ok';
  }
  @Get('two')
  @FreqLimit({ window: '10s', limit: 1, name: 'seconds' })
  @FreqLimit({ window: '1h', limit: 1, name: 'hour' })
  @FreqLimit({ window: '1d', limit: 5, name: 'day' })
  two() {
    return 'ok';
  }
}

async function denial(url: string) {
  const answer = await fetch(url);
  const { retryAfter } = (await answer.json()) as { retryAfter: unknown };
  return [answer.status, answer.headers.get('retry-after'), retryAfter];
}

describe.each(PLATFORMS)('the wait of a denial on %s', (platform) => {
  it('is the time left in memory, rounded up, from 1 to the window', async () => {
    let nowMs = 5_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const { url } = await startApp(platform, { controllers: [Waits] });
    const first = await fetch(`${url}/ten`);
    expect([first.status, first.headers.has('retry-after')]).toEqual([200, false]);
    const seen = [];
    for (const ms of [0, 2_400, 7_000, 599]) {
      nowMs += ms;
      seen.push(await denial(`${url}/ten`));
    }
    expect(seen).toEqual([10, 8, 1, 1].map((seconds) => [429, String(seconds), seconds]));
    nowMs += 2;
    expect(await statuses(1, () => fetch(`${url}/ten`))).toEqual([200]);
  });

  it('is the time left in Redis, rounded up', async () => {
    const limits = { ...inRedis(), denyCache: false };
    const { url } = await startApp(platform, { controllers: [Waits], limits });
    await fetch(`${url}/ten`);
    const [key] = await keysOf(suite.client, suite.namespace);
    for (const ms of [7_600, 2_900]) {
      await suite.client.pexpire(key!, ms);
      const before = await suite.client.pttl(key!);
      const [status, header, seconds] = await denial(`${url}/ten`);
      const after = await suite.client.pttl(key!);
      expect([status, header]).toEqual([429, String(seconds)]);
      expect(seconds).toBeLessThanOrEqual(Math.ceil((before + 1) / 1_000));
      expect(seconds).toBeGreaterThanOrEqual(Math.max(1, Math.ceil((after + 1) / 1_000)));
    }
  });

  it.each(['memory', 'redis'])('is exact: a client that waits that long is allowed, %s', async (kind) => {
    const limits = kind === 'redis' ? inRedis() : {};
    const { url } = await startApp(platform, { controllers: [Waits], limits });
    let answer = await fetch(`${url}/one`);
    while (answer.status === 200) answer = await fetch(`${url}/one`);
    const wait = Number(answer.headers.get('retry-after'));
    expect(wait).toBe(1);
    await sleep(wait * 1_000);
    expect(await statuses(1, () => fetch(`${url}/one`))).toEqual([200]);
  });

  it('is the longest of the rules that deny, equal in header, body and verdict', async () => {
    const verdicts: unknown[] = [];
    const { url } = await startApp(platform, { controllers: [Waits], limits: inRedis() }, undefined, (app) =>
      app.useGlobalFilters({
        catch(error: unknown, host: ArgumentsHost) {
          if (error instanceof FreqLimitExceededException) {
            verdicts.push(
              error.verdict.tightest!.name,
              // a millisecond more than an hour is shown as an hour
              Math.min(Math.ceil(error.verdict.tightest!.retryAfterMs / 1e3), 3_600),
            );
            const { httpAdapter } = app.get(HttpAdapterHost);
            httpAdapter.reply(host.switchToHttp().getResponse(), error.getResponse(), error.getStatus());
          }
        },
      }),
    );
    await fetch(`${url}/two`);
    const [status, header, seconds] = await denial(`${url}/two`);
    expect([status, header, verdicts]).toEqual([429, String(seconds), ['hour', seconds]]);
    expect(seconds).toBeGreaterThan(3_500);
    expect(seconds).toBeLessThanOrEqual(3_600);
  });
});

describe.each(PLATFORMS)('headers of a short window on %s', (platform) => {
  it('send a wait of one second for a window below a second', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(5_000);
    @Controller()
    class Short {
      @Get()
      @FreqLimit({ window: '300ms', limit: 1, name: 'short' })
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Short] });
    await fetch(url);
    const denied = await fetch(url);
    expect([denied.status, limitHeaders(denied), await denied.json()]).toEqual([
      429,
      { 'ratelimit-policy': '"short";q=1;w=1', ratelimit: '"short";a=0;w=1', 'retry-after': '1' },
      expect.objectContaining({ retryAfter: 1 }),
    ]);
  });
});
