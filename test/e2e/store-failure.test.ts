import { type ArgumentsHost, Catch, Controller, type ExceptionFilter, Get } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import {
  FreqLimit,
  FreqLimitHealthIndicator,
  FreqLimitService,
  isFreqLimitExceeded,
} from 'nestjs-freq-limit';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog, logLine } from '../support/log.js';
import { clientOf, uniqueNamespace } from '../support/redis.js';
import { freePort, type Server, startServer } from '../support/server.js';

const HOUR = { window: '1h', limit: 3 } as const;

@Controller()
class Guarded {
  @Get('default')
  @FreqLimit(HOUR)
  byDefault() {
    return 'ok';
  }

  @Get('allow')
  @FreqLimit({ ...HOUR, onStoreError: 'allow' })
  allow() {
    return 'ok';
  }

  @Get('deny')
  @FreqLimit({ ...HOUR, onStoreError: 'deny' })
  deny() {
    return 'ok';
  }

  @Get('mixed')
  @FreqLimit({ ...HOUR, name: 'open', onStoreError: 'allow' })
  @FreqLimit({ ...HOUR, name: 'closed', onStoreError: 'deny' })
  mixed() {
    return 'ok';
  }

  @Get('open-and-counted')
  @FreqLimit({ ...HOUR, name: 'open', limit: 1, onStoreError: 'allow' })
  @FreqLimit({ ...HOUR, name: 'counted', limit: 2 })
  openAndCounted() {
    return 'ok';
  }
}

const log = captureLog();
const caught: unknown[] = [];

@Catch()
class Watching implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost) {
    caught.push(error);
    const { status, response } = error as { status: number; response: object };
    const reply = host.switchToHttp().getResponse<{
      status(code: number): { json?(body: object): void; send(body: object): void };
    }>();
    reply.status(status).send(response);
  }
}

beforeEach(() => {
  caught.length = 0;
});
afterEach(closeApps);

function limitHeaders(response: Response): string[] {
  return [...response.headers.keys()].filter((name) => /ratelimit|retry-after/.test(name));
}

describe.each(PLATFORMS)('a store that cannot answer, on %s', (platform) => {
  async function start(options: object = {}) {
    const port = await freePort();
    const redis = `redis://127.0.0.1:${port}`;
    const { app, url } = await startApp(platform, {
      controllers: [Guarded],
      providers: [{ provide: APP_FILTER, useClass: Watching }],
      limits: { redis, namespace: uniqueNamespace(), ...options },
    });
    return { app, url, port, redis };
  }

  it('is replaced by memory by default, without numbers except for Retry-After', async () => {
    const { url } = await start();
    expect(await statuses(3, () => fetch(`${url}/default`))).toEqual([200, 200, 200]);
    const denied = await fetch(`${url}/default`);
    expect(denied.status).toBe(429);
    expect(limitHeaders(denied)).toEqual(['retry-after']);
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(3_500);
  });

  it("allows requests with 'allow', without invented numbers", async () => {
    const { url } = await start();
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(`${url}/allow`)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(answers.flatMap(limitHeaders)).toEqual([]);
  });

  it("answers 503 with 'deny', with Retry-After and no other limit header", async () => {
    const { url } = await start({ headers: 'both' });
    for (const path of ['deny', 'mixed']) {
      caught.length = 0;
      const refused = await fetch(`${url}/${path}`);
      expect(refused.status).toBe(503);
      expect(limitHeaders(refused)).toEqual(['retry-after']);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(await refused.text()).not.toMatch(/undefined|NaN|127\.0\.0\.1|ECONN/);
      expect(caught.map(isFreqLimitExceeded)).toEqual([false]);
    }
  });

  it("sends no header with headers 'none'", async () => {
    const { url } = await start({ headers: 'none' });
    expect(limitHeaders(await fetch(`${url}/deny`))).toEqual([]);
  });

  it('denies if one rule counts in memory, next to a rule that allows', async () => {
    const { url } = await start();
    expect(await statuses(3, () => fetch(`${url}/open-and-counted`))).toEqual([200, 200, 429]);
  });

  it('has a policy for the module, and limits by the share of one of several instances', async () => {
    const denying = await start({ onStoreError: 'deny' });
    expect(await statuses(2, () => fetch(`${denying.url}/default`))).toEqual([503, 503]);
    expect(await statuses(2, () => fetch(`${denying.url}/allow`))).toEqual([200, 200]);
    const sharing = await start({ fallbackShare: 0.4 });
    expect(await statuses(2, () => fetch(`${sharing.url}/default`))).toEqual([200, 429]);
  });

  it('is visible in the source of verdicts and in the health of the service', async () => {
    const { app, port, url } = await start();
    const service = app.get(FreqLimitService);
    const check = { key: 'x', window: '1h', limit: 1 } as const;
    expect(await service.consume(check)).toMatchObject({ allowed: true, source: 'memory' });
    expect(await service.peek(check)).toMatchObject({ allowed: false, source: 'memory' });
    expect(await service.consume({ ...check, onStoreError: 'allow' })).toMatchObject({
      allowed: true,
      source: 'allow',
    });
    const both = [
      { ...check, key: 'y' },
      { ...check, onStoreError: 'allow' as const },
    ];
    expect(await service.consume(both)).toMatchObject({ allowed: true, source: 'allow' });
    await expect(service.consume({ ...check, onStoreError: 'deny' })).rejects.toMatchObject({
      code: 'FREQ_LIMIT_STORE_FAILED',
    });
    await expect(service.reset(check)).rejects.toMatchObject({ code: 'FREQ_LIMIT_STORE_FAILED' });
    expect(service.health()).toEqual({
      store: 'redis',
      isUp: false,
      reason: expect.stringContaining('ECONNREFUSED'),
      since: expect.any(Date),
    });
    const indicator = app.get(FreqLimitHealthIndicator);
    expect(indicator.isHealthy('limits')).toEqual({
      limits: { status: 'up', store: 'redis', isDegraded: true, since: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect(indicator.isHealthy('limits', { downIfDegraded: true })).toMatchObject({
      limits: { status: 'down', isDegraded: true },
    });
    await withServer(port, async () => {
      await until(() => service.health().isUp, 3_000);
      expect(indicator.isHealthy()).toEqual({ freqLimit: { status: 'up', store: 'redis' } });
      expect(indicator.isHealthy(undefined, { downIfDegraded: true })).toEqual(indicator.isHealthy());
      expect(await service.consume(check)).toMatchObject({ allowed: true, source: 'store' });
      expect((await fetch(`${url}/default`)).headers.has('ratelimit')).toBe(true);
    });
  });

  it('has one log line when it fails and one when it recovers, however many requests come', async () => {
    const { app, url, port } = await start({ denyCache: false });
    await withServer(port, async (server) => {
      const client = clientOf(app.get<object>(FREQ_LIMIT_STORE));
      await until(() => client.status === 'ready');
      log.clear();
      server.process.kill('SIGSTOP');
      const end = performance.now() + 1_500;
      const longest: number[] = [];
      const sender = async (): Promise<void> => {
        while (performance.now() < end) {
          const from = performance.now();
          expect((await fetch(`${url}/allow`)).status).toBe(200);
          longest.push(performance.now() - from);
        }
      };
      await Promise.all(Array.from({ length: 20 }, sender));
      expect(log.errors).toEqual([logLine('FREQ_LIMIT_STORE_UNAVAILABLE', 'Redis is unavailable')]);
      expect(log.warnings).toEqual([]);
      server.process.kill('SIGCONT');
      await until(async () => (await fetch(`${url}/default`)).headers.has('ratelimit'), 5_000);
      expect(log.warnings).toEqual([logLine('FREQ_LIMIT_STORE_RECOVERED', 'Redis is available again after')]);
      expect(log.lines).toHaveLength(2);
    });
  });

  it('does not delay the start if the server accepts connections and sends nothing', async () => {
    const server = await startServer();
    server.process.kill('SIGSTOP');
    try {
      const from = performance.now();
      const { url } = await start({ redis: server.url });
      expect(await statuses(4, () => fetch(`${url}/default`))).toEqual([200, 200, 200, 429]);
      expect(performance.now() - from).toBeLessThan(5_000);
    } finally {
      await closeApps();
      await server.stop();
    }
  });
});

async function withServer(port: number, run: (server: Server) => Promise<void>): Promise<void> {
  const server = await startServer([], port);
  try {
    await run(server);
  } finally {
    await closeApps();
    await server.stop();
  }
}
