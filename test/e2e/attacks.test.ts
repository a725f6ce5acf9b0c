import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  Logger,
  Post,
  Req,
  UseFilters,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { jest } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  FreqLimit,
  type FreqLimitHook,
  FreqLimitService,
  isFreqLimitExceeded,
  type Verdict,
} from '../../src/index.js';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { clientOf, keysOf, redisUrl } from '../support/redis.js';
import { limitsIn } from '../support/kinds.js';

// What callers and listeners have tried to get past a limit.

const suite = redisSuite();
let lines: string[];

beforeEach(() => {
  lines = [];
  for (const level of ['warn', 'error'] as const)
    jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => void lines.push(String(line)));
});
afterEach(closeApps);

@Controller()
class Once {
  @Get()
  @FreqLimit({ name: 'once', window: '1m', limit: 1 })
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('on %s', (platform) => {
  it('who hangs up behind a request that is not answered yet is counted all the same', async () => {
    let arrived: (socket: Socket) => void;
    @Controller()
    class Dear {
      @Get('slow')
      slow() {
        return new Promise(() => undefined);
      }
      @Get('dear')
      @FreqLimit({ name: 'dear', window: '1m', limit: 9, countWhen: 'success' })
      async dear(@Req() request: { socket?: Socket; raw?: { socket: Socket } }) {
        const socket = request.raw?.socket ?? request.socket!;
        arrived(socket);
        await new Promise((resolve) => socket.once('close', resolve));
        throw new Error('the client is gone');
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Dear] });
    for (const first of ['', 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const here = new Promise<Socket>((resolve) => (arrived = resolve));
      const client = connect(Number(new URL(url).port), '127.0.0.1');
      client.write(`${first}GET /dear HTTP/1.1\r\nHost: x\r\n\r\n`);
      const server = await here;
      const closed = new Promise((resolve) => server.once('close', resolve));
      client.destroy();
      await closed;
      // the handler fails, and whoever would give something back has done so
      await sleep(50);
    }
    const counter = { controller: Dear, handler: 'dear', rule: 'dear', key: '127.0.0.1' };
    expect((await app.get(FreqLimitService).peek(counter)).results).toMatchObject([{ used: 2 }]);
  });

  it('a proxy that nobody trusts does not lend its clients its place in the allow list', async () => {
    const limits = { skipAddresses: ['127.0.0.0/8', '::1'] };
    const { url } = await startApp(platform, { controllers: [Once], limits });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    expect(await statuses(2, () => fetch(url, { headers }))).toEqual([200, 429]);
    for (const name of [
      'x-real-ip',
      'cf-connecting-ip',
      'true-client-ip',
      'fly-client-ip',
      'via',
      'forwarded',
    ])
      expect(await statuses(1, () => fetch(url, { headers: { [name]: '203.0.113.9' } }))).toEqual([429]);
  });

  it('a text that a function cannot take fills no log, and writes no line of its own', async () => {
    const frames: string[] = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown, more: unknown) => {
      lines.push(String(line));
      frames.push(String(more));
    });
    const tenantOf = (context: ExecutionContext): never => {
      const { body } = context.switchToHttp().getRequest<{ body: { tenant: string } }>();
      const error = new Error(`no tenant ${body.tenant}`);
      // reading the stack creates it; a message that changes later is not in it
      String(error.stack);
      error.message = `key: ${error.message}`;
      throw error;
    };
    @Controller()
    class Tenants {
      @Post()
      @FreqLimit({ name: 'tenant', window: '1m', limit: 5, key: tenantOf })
      post() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Tenants] });
    const tenant =
      'x\n    at [Nest] 1  - LOG [Auth] admin logged in\n[Nest] 1 - ERROR forged\n    at +8613800000000';
    const startMs = performance.now();
    for (let i = 0; i < 30; i++) expect((await post(url, { tenant })).status).toBe(500);
    expect((await post(url, { tenant: '\n'.repeat(30_000) })).status).toBe(500);
    const seconds = (performance.now() - startMs) / 1_000;
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(1 + seconds);
    expect(lines[0]).toMatch(
      /^@FreqLimit on Tenants\.post, rule "tenant": the key function failed: key: no tenant x\\n/,
    );
    for (const line of lines) expect(line).not.toContain('\n');
    for (const line of frames.join('\n').split('\n')) expect(line).toMatch(/^ {4}at .*:\d+:\d+\)?$/);
    expect(frames.join('\n')).toContain('tenantOf');
    expect(frames.join('\n')).not.toMatch(/admin|forged|138/);
  });

  it.each(['message', 'exceptionFactory'])(
    'a thenable of the %s function makes no other answer of a denial',
    async (option) => {
      const thenable = {
        then: () => {
          throw new Error('no');
        },
      };
      const limits = { [option]: () => thenable as never };
      const { url } = await startApp(platform, { controllers: [Once], limits });
      expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
      expect(lines[0]).toContain(`The ${option} function failed; the default is used instead: no`);
    },
  );

  it('a client over its limit costs Redis no call, also with a new value in each request', async () => {
    @Controller()
    class Codes {
      @Post()
      @FreqLimit({ name: 'address', window: '1m', limit: 2, key: '{ip}' })
      @FreqLimit({ name: 'phone', window: '1d', limit: 10, key: '{body.phone}' })
      @FreqLimit({ name: 'report', window: '1d', limit: 1, key: '{body.phone}', shadow: true })
      send() {
        return 'sent';
      }
    }
    const verdicts: Verdict[] = [];
    const { app, url } = await startApp(platform, {
      controllers: [Codes],
      limits: {
        redis: redisUrl(),
        namespace: suite.namespace,
        timeoutMs: 10_000,
        onDenied: ({ verdict }) => void verdicts.push(verdict),
      },
    });
    let phone = 0;
    const ask = (): Promise<Response> => post(url, { phone: `+1555${phone++}` });
    expect(await statuses(3, ask)).toEqual([201, 201, 429]);
    const keys = (await keysOf(suite.client, suite.namespace)).sort();
    const calls = jest.spyOn(clientOf(app.get(FREQ_LIMIT_STORE)), 'evalsha');
    const denied = await Promise.all(Array.from({ length: 50 }, ask));
    expect(denied.map(({ status }) => status)).toEqual(denied.map(() => 429));
    // rules without known numbers are not in the headers
    expect(denied[0]!.headers.get('ratelimit')).toMatch(/^"address";a=0;w=\d+$/);
    expect(Number(denied[0]!.headers.get('retry-after'))).toBeGreaterThan(1);
    // a slow machine may have to ask again, once a second
    expect(calls.mock.calls.length).toBeLessThan(10);
    expect((await keysOf(suite.client, suite.namespace)).sort()).toEqual(keys);
    expect(verdicts.at(-1)).toMatchObject({
      allowed: false,
      source: 'store',
      tightest: { name: 'address', used: 2 },
    });
    const fresh = verdicts.at(-1)!.results.filter(({ source }) => source === 'none');
    expect(fresh.map(({ name, allowed, shadow = false }) => [name, allowed, shadow])).toEqual([
      ['phone', true, false],
      ['report', true, true],
    ]);
  });

  it('no cost can make a counter overflow, so that requests would pass', async () => {
    @Controller()
    class Uploads {
      @Post()
      @FreqLimit({
        name: 'bytes',
        window: '1h',
        limit: 1_000,
        cost: (context: ExecutionContext) =>
          context.switchToHttp().getRequest<{ body: { bytes: number } }>().body.bytes,
        countDenied: true,
        onStoreError: 'allow',
      })
      upload() {
        return 'taken';
      }
    }
    const { app, url } = await startApp(platform, {
      controllers: [Uploads],
      limits: { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 10_000 },
    });
    const counter = { controller: Uploads, handler: 'upload', rule: 'bytes', key: '127.0.0.1' };
    const flood = { ...counter, cost: Number.MAX_SAFE_INTEGER };
    const service = app.get(FreqLimitService);
    const verdicts = await Promise.all(Array.from({ length: 1_100 }, () => service.consume(flood)));
    expect(verdicts.filter(({ allowed }) => allowed)).toEqual([]);
    const ask = (): Promise<Response> => post(url, { bytes: Number.MAX_SAFE_INTEGER });
    expect(await statuses(3, ask)).toEqual([429, 429, 429]);
    expect(await statuses(1, () => post(url, { bytes: 1 }))).toEqual([429]);
    expect((await service.peek(counter)).source).toBe('store');
  });

  it('a listener cannot make a pass of a denial', async () => {
    const onDenied: FreqLimitHook = ({ verdict }) => {
      (verdict as { allowed: boolean }).allowed = true;
    };
    const { url } = await startApp(platform, { controllers: [Once], limits: { onDenied } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
    expect(lines.join('\n')).toContain('FREQ_LIMIT_HOOK_FAILED: The onDenied function failed');
  });

  it('an exception that all denials share tells each caller of his own', async () => {
    const one = new HttpException('slow down', 429);
    const seen: unknown[] = [];
    @Catch(HttpException)
    class Notes implements ExceptionFilter {
      catch(error: HttpException, host: ArgumentsHost) {
        const { body } = host.switchToHttp().getRequest<{ body: { who: number } }>();
        seen.push([body.who, isFreqLimitExceeded(error) && error.verdict.tightest?.limit]);
        adapter().httpAdapter.reply(host.switchToHttp().getResponse(), 'slow down', error.getStatus());
      }
    }
    @Controller()
    @UseFilters(Notes)
    class Each {
      @Post()
      @FreqLimit({
        name: 'each',
        window: '1m',
        cost: 100,
        key: '{body.who}',
        limit: (context: ExecutionContext) =>
          context.switchToHttp().getRequest<{ body: { who: number } }>().body.who,
      })
      post() {
        return 'ok';
      }
    }
    const limits = { ...limitsIn('redis', suite), exceptionFactory: () => one };
    const { app, url } = await startApp(platform, { controllers: [Each], limits });
    const adapter = (): HttpAdapterHost => app.get(HttpAdapterHost);
    const callers = [1, 2, 3, 4, 5, 6, 7, 8];
    const answers = await Promise.all(callers.map((who) => post(url, { who })));
    expect(answers.map(({ status }) => status)).toEqual(callers.map(() => 429));
    expect(seen.sort()).toEqual(callers.map((who) => [who, who]));
  });
});
