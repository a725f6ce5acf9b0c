import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
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
} from 'nestjs-freq-limit';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { clientOf, keysOf, redisUrl } from '../support/redis.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog, logLine } from '../support/log.js';

// Ways past a limit that clients and listeners may try.

const suite = redisSuite();
const { lines, stacks } = captureLog();
afterEach(closeApps);

@Controller()
class Once {
  @Get()
  @FreqLimit({ name: 'once', window: '1m', limit: 1 })
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('an attack on %s', (platform) => {
  it('by disconnecting before the answer is counted', async () => {
    let arrived: (socket: Socket) => void;
    @Controller()
    class Costly {
      @Get('slow')
      slow() {
        return new Promise(() => undefined);
      }
      @Get('costly')
      @FreqLimit({ name: 'costly', window: '1m', limit: 9, countWhen: 'success' })
      async costly(@Req() request: { socket?: Socket; raw?: { socket: Socket } }) {
        const socket = request.raw?.socket ?? request.socket!;
        arrived(socket);
        await new Promise((resolve) => socket.once('close', resolve));
        throw new Error('the client is gone');
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Costly] });
    for (const first of ['', 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const here = new Promise<Socket>((resolve) => (arrived = resolve));
      const client = connect(Number(new URL(url).port), '127.0.0.1');
      client.write(`${first}GET /costly HTTP/1.1\r\nHost: x\r\n\r\n`);
      const server = await here;
      const closed = new Promise((resolve) => server.once('close', resolve));
      client.destroy();
      await closed;
      // a refund, if there was one, is done by then
      await sleep(50);
    }
    const counter = { controller: Costly, handler: 'costly', rule: 'costly', key: '127.0.0.1' };
    expect((await app.get(FreqLimitService).peek(counter)).results).toMatchObject([{ used: 2 }]);
  });

  it('through an untrusted proxy whose address is in skipAddresses is counted', async () => {
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

  it('by values that make a key function throw neither fills the log nor forges a line', async () => {
    const tenantOf = (context: ExecutionContext): never => {
      const { body } = context.switchToHttp().getRequest<{ body: { tenant: string } }>();
      const error = new Error(`no tenant ${body.tenant}`);
      // reading the stack creates it; it keeps the message of that moment
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
      /^FREQ_LIMIT_RULE_FAILED: The request got 500: @FreqLimit on Tenants\.post, rule "tenant": the key function failed: key: no tenant x\\n/,
    );
    for (const line of lines) expect(line).not.toContain('\n');
    for (const line of stacks.join('\n').split('\n')) expect(line).toMatch(/^ {4}at .*:\d+:\d+\)?$/);
    expect(stacks.join('\n')).toContain('tenantOf');
    expect(stacks.join('\n')).not.toMatch(/admin|forged|138/);
  });

  it.each(['message', 'exceptionFactory'])(
    'is denied if the %s function returns a thenable',
    async (option) => {
      const thenable = {
        then: () => {
          throw new Error('no');
        },
      };
      const limits = { [option]: () => thenable as never };
      const { url } = await startApp(platform, { controllers: [Once], limits });
      expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
      expect(lines[0]).toContain(
        `FREQ_LIMIT_DENIAL_FUNCTION_FAILED: The ${option} function failed; the default is used instead: no`,
      );
    },
  );

  it('over the limit costs no Redis call, even with a new value in each request', async () => {
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
    const send = (): Promise<Response> => post(url, { phone: `+1555${phone++}` });
    expect(await statuses(3, send)).toEqual([201, 201, 429]);
    const keys = (await keysOf(suite.client, suite.namespace)).sort();
    const calls = jest.spyOn(clientOf(app.get(FREQ_LIMIT_STORE)), 'sendCommand');
    const denied = await Promise.all(Array.from({ length: 50 }, send));
    expect(denied.map(({ status }) => status)).toEqual(denied.map(() => 429));
    // rules without known numbers are not in the headers
    expect(denied[0]!.headers.get('ratelimit')).toMatch(/^"address";a=0;w=\d+$/);
    expect(Number(denied[0]!.headers.get('retry-after'))).toBeGreaterThan(1);
    // on a slow machine the cache may query Redis again, once a second
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

  it('by huge costs does not overflow a counter', async () => {
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
    const send = (): Promise<Response> => post(url, { bytes: Number.MAX_SAFE_INTEGER });
    expect(await statuses(3, send)).toEqual([429, 429, 429]);
    expect(await statuses(1, () => post(url, { bytes: 1 }))).toEqual([429]);
    expect((await service.peek(counter)).source).toBe('store');
  });

  it('is denied if a listener changes the verdict', async () => {
    const onDenied: FreqLimitHook = ({ verdict }) => {
      (verdict as { allowed: boolean }).allowed = true;
    };
    const { url } = await startApp(platform, { controllers: [Once], limits: { onDenied } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
    expect(lines).toContainEqual(logLine('FREQ_LIMIT_HOOK_FAILED', 'The onDenied function failed'));
  });

  it('gets its own verdict if all denials share one exception', async () => {
    const one = new HttpException('slow down', 429);
    const seen: unknown[] = [];
    @Catch(HttpException)
    class Notes implements ExceptionFilter {
      catch(error: HttpException, host: ArgumentsHost) {
        const { body } = host.switchToHttp().getRequest<{ body: { client: number } }>();
        seen.push([body.client, isFreqLimitExceeded(error) && error.verdict.tightest?.limit]);
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
        key: '{body.client}',
        limit: (context: ExecutionContext) =>
          context.switchToHttp().getRequest<{ body: { client: number } }>().body.client,
      })
      post() {
        return 'ok';
      }
    }
    const limits = { ...limitsIn('redis', suite), exceptionFactory: () => one };
    const { app, url } = await startApp(platform, { controllers: [Each], limits });
    const adapter = (): HttpAdapterHost => app.get(HttpAdapterHost);
    const clients = [1, 2, 3, 4, 5, 6, 7, 8];
    const answers = await Promise.all(clients.map((client) => post(url, { client })));
    expect(answers.map(({ status }) => status)).toEqual(clients.map(() => 429));
    expect(seen.sort()).toEqual(clients.map((client) => [client, client]));
  });
});
