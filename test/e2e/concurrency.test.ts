import { Controller, Get, Query, type Type } from '@nestjs/common';
import {
  defineRule,
  FreqLimit,
  type FreqLimitOptions,
  FreqLimitService,
  FreqLimitVerdict,
  type Verdict,
} from 'nestjs-freq-limit';
import { PLATFORMS, startApp, type TestApp } from '../support/app.js';
import { limitHeaders, remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';
import { slotsOf, untilTaken, Work } from '../support/slots.js';

const log = captureLog();
const work = new Work();

// before the applications are closed
afterEach(() => {
  work.finish();
  work.most = 0;
});

const suite = redisSuite();

const two = FreqLimit({ name: 'slots', concurrency: 2, key: '{ip}' });

@Controller()
class Exports {
  @Get('export')
  @two
  @FreqLimit({ name: 'rate', window: '1h', limit: 5, key: '{ip}' })
  async export(@FreqLimitVerdict() verdict: Verdict) {
    await work.run();
    return verdict;
  }
}

/** Sends requests whose handler runs, without waiting for their responses. */
async function running(url: string, count: number): Promise<Promise<Response>[]> {
  const before = work.running;
  const sent = Array.from({ length: count }, () => fetch(url));
  await work.untilRunning(before + count);
  return sent;
}

async function finished(sent: readonly Promise<Response>[]): Promise<Response[]> {
  work.finish();
  const responses = await Promise.all(sent);
  for (const response of responses) await response.clone().arrayBuffer();
  return responses;
}

describe.each(EVERYWHERE)('a rule with concurrency on %s, %s', (platform, kind) => {
  const start = (controller: Type = Exports, more: FreqLimitOptions = {}): Promise<TestApp> =>
    startApp(platform, { controllers: [controller], limits: { ...limitsIn(kind, suite), ...more } });

  it('lets as many requests run at once, and the next ones when these have ended', async () => {
    const { app, url } = await start();
    const sent = await running(`${url}/export`, 2);
    const denied = await fetch(`${url}/export`);
    expect(denied.status).toBe(429);
    expect((await finished(sent)).map(({ status }) => status)).toEqual([200, 200]);
    await untilTaken(app, slotsOf(Exports, 'export'), 0);
    const again = await running(`${url}/export`, 2);
    expect((await fetch(`${url}/export`)).status).toBe(429);
    await finished(again);
    expect(work.most).toBe(2);
  });

  it('denies with its own text, Retry-After: 1 and no window in the headers', async () => {
    const { url } = await start();
    const sent = await running(`${url}/export`, 2);
    const denied = await fetch(`${url}/export`);
    expect(await denied.json()).toEqual({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Too many requests at once. Try again in 1 second.',
      retryAfter: 1,
    });
    expect(limitHeaders(denied)).toEqual({
      'ratelimit-policy': '"slots";q=2;qu="concurrent-requests", "rate";q=5;w=3600',
      ratelimit: expect.stringMatching(/^"slots";a=0, "rate";a=3;w=\d+$/) as unknown,
      'retry-after': '1',
    });
    await finished(sent);
  });

  it('shows the verdict to the handler, and the free slots to the client', async () => {
    const { url } = await start();
    const [response] = await finished(await running(`${url}/export`, 1));
    expect(remaining(response!)).toEqual({ rate: 4, slots: 1 });
    const { results } = (await response!.json()) as Verdict;
    expect(results[0]).toEqual({
      ...{ name: 'slots', allowed: true, limit: 2, windowMs: 15_000, cost: 1, used: 1, remaining: 1 },
      ...{ resetAfterMs: 1_000, retryAfterMs: 0, source: 'store', concurrency: true },
    });
  });

  it('takes no slot if another rule denies, and charges no other rule if no slot is free', async () => {
    const { app, url } = await start();
    const service = app.get(FreqLimitService);
    const sent = await running(`${url}/export`, 2);
    for (let i = 0; i < 3; i++) await fetch(`${url}/export`);
    const rate = { controller: Exports, handler: 'export', rule: 'rate', key: '127.0.0.1' };
    expect((await service.peek(rate)).results[0]?.used).toBe(2);
    await finished(sent);
    await untilTaken(app, slotsOf(Exports, 'export'), 0);
    await service.consume({ ...rate, cost: 3 });
    expect((await fetch(`${url}/export`)).headers.get('retry-after')).not.toBe('1');
    await untilTaken(app, slotsOf(Exports, 'export'), 0);
  });

  it('never lets more run at once, whatever comes at the same time', async () => {
    @Controller()
    class Short {
      @Get()
      @FreqLimit({ name: 'slots', concurrency: 3, key: 'all' })
      async get() {
        const end = work.run();
        setTimeout(() => {
          work.finish();
        }, 3);
        await end;
      }
    }
    const { app, url } = await start(Short);
    const responses = await Promise.all(Array.from({ length: 60 }, () => fetch(url)));
    expect(work.most).toBeLessThanOrEqual(3);
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3);
    await untilTaken(app, { controller: Short, handler: 'get', rule: 'slots' }, 0);
  });

  it('counts by its key, and hashes that with hashKeys', async () => {
    @Controller()
    class ByUser {
      @Get()
      @FreqLimit({ name: 'slots', concurrency: 1, key: '{query.user}', onMissingKey: 'deny' })
      async get() {
        await work.run();
      }
    }
    const { app, url } = await start(ByUser, { hashKeys: { secret: 'a secret of at least 32 characters' } });
    const sent = [...(await running(`${url}?user=ada`, 1)), ...(await running(`${url}?user=bob`, 1))];
    expect((await fetch(`${url}?user=ada`)).status).toBe(429);
    expect((await fetch(url)).status).toBe(400);
    await untilTaken(app, slotsOf(ByUser, 'get', 'slots', 'ada'), 1);
    const keys = kind === 'redis' ? await keysOf(suite.client, suite.namespace) : [];
    expect(keys.filter((key) => key.includes('ada'))).toEqual([]);
    await finished(sent);
    await untilTaken(app, slotsOf(ByUser, 'get', 'slots', 'ada'), 0);
  });
});

describe.each(PLATFORMS)('a rule with concurrency on %s', (platform) => {
  it('may be a named rule, a rule of the module, and a rule of defineRule, with functions', async () => {
    const ofModule = defineRule({ name: 'all', concurrency: process.env['NOT_SET'] ?? '3', key: 'all' });
    @Controller()
    class Named {
      @Get('export')
      @FreqLimit('exports', { concurrency: (context) => (context.getType() === 'http' ? 2 : 0) })
      async export() {
        await work.run();
      }
      @Get('other')
      async other() {
        await work.run();
      }
      @Get('skipped')
      @FreqLimit({ name: 'none', concurrency: 0, skipIf: () => true })
      skipped() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, {
      controllers: [Named],
      limits: {
        rules: [ofModule],
        namedRules: { exports: { concurrency: 1, key: '{ip}' } },
        countDenied: true,
      },
    });
    const sent = await running(`${url}/export`, 2);
    expect(remaining(await fetch(`${url}/export`))).toEqual({ all: 1, exports: 0 });
    expect((await fetch(`${url}/skipped`)).status).toBe(200);
    sent.push(...(await running(`${url}/other`, 1)));
    expect((await fetch(`${url}/other`)).status).toBe(429);
    await finished(sent);
  });

  it('as a shadow rule denies nothing, and says what it would have denied', async () => {
    const seen: Verdict[] = [];
    @Controller()
    class Tried {
      @Get()
      @FreqLimit({ name: 'slots', concurrency: 1, key: 'all', shadow: true })
      async get() {
        await work.run();
      }
    }
    const onVerdict = ({ verdict }: { verdict: Verdict }) => seen.push(verdict);
    const { app, url } = await startApp(platform, { controllers: [Tried], limits: { onVerdict } });
    const sent = await running(url, 3);
    expect(seen.map(({ allowed, results }) => [allowed, results[0]?.allowed, results[0]?.shadow])).toEqual([
      [true, true, true],
      [true, false, true],
      [true, false, true],
    ]);
    expect((await finished(sent)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await untilTaken(app, { controller: Tried, handler: 'get', rule: 'slots' }, 0);
    expect(log.withCode('FREQ_LIMIT_SHADOW_DENIED')).toHaveLength(1);
  });

  it('has problem details, its own status and message, and stays hidden if it should', async () => {
    @Controller()
    class Own {
      @Get()
      @FreqLimit({ name: 'a', concurrency: 0, statusCode: 503, message: 'Busy' })
      get(@Query('x') x: string) {
        return x;
      }
      @Get('hidden')
      @FreqLimit({ name: 'b', concurrency: 0, hidden: true })
      hidden() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Own], limits: { errorFormat: 'problem' } });
    const response = await fetch(url);
    expect([response.status, await response.json()]).toEqual([
      503,
      {
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 503,
        detail: 'Busy',
        'violated-policies': ['a'],
        retryAfter: 1,
      },
    ]);
    const hidden = await fetch(`${url}/hidden`);
    expect(limitHeaders(hidden)).toEqual({ 'retry-after': '1' });
  });
});
