import { Controller, Get } from '@nestjs/common';
import { FreqLimit, FreqLimitService } from 'nestjs-freq-limit';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { closeApps, startApp } from '../support/app.js';
import { killConnections } from '../support/kill-connections.js';
import { captureLog } from '../support/log.js';
import { clientOf, redisUrl, uniqueNamespace } from '../support/redis.js';
import { type Server, startServer } from '../support/server.js';
import { startSlowProxy, type SlowProxy } from '../support/slow-proxy.js';

// A blocked process delays its own timers. Standstills are 1.2 times the time that each timer waits.

const TIMEOUT_MS = 250;
const SILENCE_MS = 500;
const CONNECT_MS = 1_000;
const { lines } = captureLog();
afterEach(closeApps);

function blockProcess(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

async function serve(redis: string) {
  const { app, url } = await startApp('express', {
    limits: { redis, namespace: uniqueNamespace(), timeoutMs: TIMEOUT_MS },
    controllers: [Denying],
  });
  const service = app.get(FreqLimitService);
  const one = () => service.consume({ key: 'standstill', window: '1h', limit: 1e6 });
  return { url, service, one, client: clientOf(app.get(FREQ_LIMIT_STORE)) };
}

@Controller()
class Denying {
  @Get('deny')
  @FreqLimit({ window: '1h', limit: 1_000, onStoreError: 'deny' })
  deny() {
    return 'ok';
  }

  @Get('memory')
  @FreqLimit({ window: '1h', limit: 1_000, name: 'memory' })
  memory() {
    return 'ok';
  }
}

describe.each([0, 1, 5])('a blocked process, %i ms away from Redis', (delayMs) => {
  let proxy: SlowProxy;

  beforeAll(async () => {
    proxy = await startSlowProxy(Number(new URL(redisUrl()).port), delayMs);
  });
  afterAll(() => proxy.stop());

  it.each([TIMEOUT_MS, SILENCE_MS])(
    'before its call leaves, for longer than %i ms, is answered by the store',
    async (timerMs) => {
      const { one, service } = await serve(proxy.url);
      await one();
      const before = await proxy.connections();
      const verdict = one();
      blockProcess(1.2 * timerMs);
      expect((await verdict).source).toBe('store');
      expect(await proxy.connections()).toBe(before);
      expect(service.health().isUp).toBe(true);
      expect(lines).toEqual([]);
    },
  );

  it.each([TIMEOUT_MS, SILENCE_MS, CONNECT_MS])(
    'after its call has left, for longer than %i ms, is answered by the store',
    async (timerMs) => {
      const { one, service } = await serve(proxy.url);
      await one();
      const before = await proxy.connections();
      const verdict = one();
      setImmediate(() =>
        setImmediate(() => {
          blockProcess(1.2 * timerMs);
        }),
      );
      expect((await verdict).source).toBe('store');
      expect((await one()).source).toBe('store');
      expect(await proxy.connections()).toBe(before);
      expect(service.health().isUp).toBe(true);
      expect(lines).toEqual([]);
    },
  );
});

describe('a process that is blocked while it connects', () => {
  let proxy: SlowProxy;

  beforeAll(async () => {
    proxy = await startSlowProxy(Number(new URL(redisUrl()).port), 5);
  });
  afterAll(() => proxy.stop());

  it('keeps its first connection', async () => {
    const before = await proxy.connections();
    setTimeout(() => {
      blockProcess(1.2 * CONNECT_MS);
    }, 20);
    const { one, client } = await serve(proxy.url);
    for (const status of ['connecting', 'connect'] as const) {
      client.disconnect(true);
      while (client.status !== status) await new Promise((resolve) => client.once(status, resolve));
      blockProcess(1.2 * CONNECT_MS);
      expect((await one()).source).toBe('store');
    }
    expect((await proxy.connections()) - before).toBe(3);
    expect(lines).toEqual([]);
  });
});

describe('a connection that the server has closed', () => {
  let server: Server;

  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  it('while it was idle makes no request fail, and logs nothing', async () => {
    const { url, one, service } = await serve(server.url);
    await one();
    for (let i = 0; i < 5; i++) {
      killConnections(server.port);
      const answers = await Promise.all(
        ['deny', 'memory', 'deny', 'memory'].map((path) => fetch(`${url}/${path}`)),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      // numbers of a counter, so not an answer of a fallback
      expect(answers.every(({ headers }) => headers.has('ratelimit'))).toBe(true);
    }
    expect((await service.peek({ key: 'standstill', window: '1h' })).source).toBe('store');
    expect(lines).toEqual([]);
  });

  it('in the turn of a request is noticed before the call leaves', async () => {
    const { one } = await serve(server.url);
    await one();
    killConnections(server.port);
    blockProcess(1_000);
    expect((await one()).source).toBe('store');
    expect(lines).toEqual([]);
  });

  it('is not waited for if it does not come back', async () => {
    const own = await startServer();
    const { url, one } = await serve(own.url);
    await one();
    await own.stop();
    const started = performance.now();
    const { status } = await fetch(`${url}/deny`);
    expect(status).toBe(503);
    expect(performance.now() - started).toBeLessThan(TIMEOUT_MS);
    expect(lines).toHaveLength(1);
  });
});
