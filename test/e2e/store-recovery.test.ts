import { Controller, Get } from '@nestjs/common';
import {
  FreqLimit,
  FreqLimitHealthIndicator,
  type FreqLimitOptions,
  FreqLimitService,
} from 'nestjs-freq-limit';
import { once } from 'node:events';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { closeApps, startApp, statuses } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import { clientOf, plainClient, uniqueNamespace } from '../support/redis.js';
import { freePort, type Server, startServer } from '../support/server.js';

const HOUR = { window: '1h', limit: 1e6 } as const;
let server: Server;
const { lines } = captureLog();

beforeEach(async () => {
  server = await startServer();
});
afterEach(async () => {
  await closeApps();
  await server.stop();
});

async function serve(limits: FreqLimitOptions) {
  const { app } = await startApp('express', { limits: { namespace: uniqueNamespace(), ...limits } });
  const service = app.get(FreqLimitService);
  const charge = (key: string) => service.consume({ ...HOUR, key });
  return { service, indicator: app.get(FreqLimitHealthIndicator), charge };
}

describe('a breaker that opened while the server was slow', () => {
  async function openBreaker() {
    const served = await serve({ redis: server.url, timeoutMs: 100 });
    await served.charge('a');
    server.process.kill('SIGSTOP');
    await Promise.all(Array.from({ length: 5 }, (_, i) => served.charge(`slow${i}`)));
    await until(async () => {
      await served.charge('a');
      return !served.service.health().isUp;
    });
    server.process.kill('SIGCONT');
    return served;
  }

  it('closes in a process that only peeks', async () => {
    const { service } = await openBreaker();
    await until(async () => (await service.peek({ ...HOUR, key: 'a' })).source === 'store');
    expect(service.health()).toMatchObject({ isUp: true, reason: undefined });
  });

  it('closes in a process with a cost of 0 only', async () => {
    const { service } = await openBreaker();
    await until(async () => (await service.consume({ ...HOUR, key: 'a', cost: 0 })).source === 'store');
    expect(service.health().isUp).toBe(true);
  });

  it('closes for a few calls that charge among many that peek', async () => {
    const { service, charge } = await openBreaker();
    await until(async () => {
      await Promise.all(Array.from({ length: 100 }, () => service.peek({ ...HOUR, key: 'a' })));
      return (await charge('a')).source === 'store';
    });
    expect(service.health().isUp).toBe(true);
  });

  it('closes without requests, for health() and for the indicator', async () => {
    const { service } = await openBreaker();
    await until(() => service.health().isUp);
    const { indicator } = await openBreaker();
    await until(() => indicator.isHealthy().freqLimit.isDegraded === undefined);
    expect(lines).toHaveLength(4);
  });
});

describe('a right that the script lacks', () => {
  it('is an error of the server, not of each key', async () => {
    const admin = plainClient(server.url);
    const rights = ['~*', '-@all', '+evalsha', '+eval', '+incr', '+incrby', '+pttl', '+get', '+del', '+info'];
    await admin.call('ACL', 'SETUSER', 'limiter', 'on', '>secret', 'resetkeys', ...rights);
    const redis = server.url.replace('redis://', 'redis://limiter:secret@');
    const { service, charge } = await serve({ redis });
    expect((await charge('a')).source).not.toBe('store');
    expect(service.health()).toMatchObject({ isUp: false });
    expect(service.health().reason).toContain('the Redis user lacks a permission');
    for (let i = 0; i < 20; i++) await charge(`key${i}`);
    expect(lines).toHaveLength(1);
    expect(await admin.dbsize()).toBe(0);
    await admin.call('ACL', 'SETUSER', 'limiter', '+pexpire');
    await until(() => service.health().isUp);
    expect((await charge('a')).source).toBe('store');
    await admin.quit();
  });
});

describe('a server that is full', () => {
  it('charges real costs all the same', async () => {
    const admin = plainClient(server.url);
    const { service } = await serve({ redis: server.url, timeoutMs: 5_000 });
    const checks = [
      { ...HOUR, key: 'a', name: 'fixed', cost: 100 },
      { ...HOUR, key: 'a', name: 'sliding', algorithm: 'sliding-window', cost: 100 },
    ] as const;
    const { settle } = await service.consume(checks, { settle: true });
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'maxmemory', '1mb');
    await settle({ fixed: 5_000, sliding: 6_000 });
    const { results } = await service.peek(checks);
    expect(results.map(({ used }) => used)).toEqual([5_000, 6_000]);
    expect(lines).toEqual([]);
    await admin.quit();
  });

  it('rejects new counters, and health() reports it', async () => {
    const admin = plainClient(server.url);
    const { service, charge } = await serve({ redis: server.url, timeoutMs: 5_000 });
    await charge('known');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'maxmemory', '1mb');
    const chargeFresh = async (round: number): Promise<number> => {
      const verdicts = await Promise.all(Array.from({ length: 500 }, (_, i) => charge(`${round}-${i}`)));
      return verdicts.filter(({ source }) => source !== 'store').length;
    };
    expect(await chargeFresh(0)).toBe(0);
    expect(service.health()).toMatchObject({ isUp: true });
    expect(service.health().reason).toContain('full');
    for (let i = 0; i < 20; i++) expect((await charge('known')).source).toBe('store');
    let failed = 0;
    for (let round = 1; failed === 0 && round < 60; round++) failed = await chargeFresh(round);
    expect(failed).toBeGreaterThan(0);
    expect(await admin.dbsize()).toBeLessThan(11_000);
    expect(service.health()).toMatchObject({ isUp: false });
    await admin.config('SET', 'maxmemory', '0');
    await until(async () => (await charge('known')).source === 'store');
    expect(service.health()).toMatchObject({ isUp: true, reason: undefined });
    await admin.quit();
  }, 40_000);
});

@Controller()
class Limited {
  @Get()
  @FreqLimit({ window: '1m', limit: 1, name: 'one' })
  get() {
    return 'ok';
  }
}

describe('a Redis that comes and goes', () => {
  it('causes no unhandled rejection, and counts whenever it is up', async () => {
    // Jest fails a test on an unhandled rejection
    const port = await freePort();
    const { app, url } = await startApp('express', {
      controllers: [Limited],
      limits: {
        redis: `redis://127.0.0.1:${port}`,
        namespace: uniqueNamespace(),
        timeoutMs: 5_000,
        denyCache: false,
        onStoreError: 'deny',
      },
    });
    const connection = clientOf(app.get<object>(FREQ_LIMIT_STORE));
    for (let round = 0; round < 2; round++) {
      expect(await statuses(2, () => fetch(url))).toEqual([503, 503]);
      const server = await startServer([], port);
      if (connection.status !== 'ready') await once(connection, 'ready');
      expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
      const lost = once(connection, 'close');
      await server.stop();
      await lost;
    }
    expect(await statuses(1, () => fetch(url))).toEqual([503]);
  });
});
