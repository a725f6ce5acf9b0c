import { Controller, Get, UnauthorizedException } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, type FreqLimitRule, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { startCluster, until } from '../support/cluster.js';
import { remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { watchCommands } from '../support/monitor.js';
import { startProxy } from '../support/proxy.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, plainClient } from '../support/redis.js';
import { startServer } from '../support/server.js';

const suite = redisSuite();

const { lines, withCode } = captureLog();

describe.each(PLATFORMS)('countWhen in Redis on %s', (platform) => {
  const failing: FreqLimitRule = {
    window: '1m',
    limit: 3,
    key: 'all',
    name: 'failures',
    countWhen: 'failure',
  };

  it('refunds by one command, also if handlers take longer than timeoutMs', async () => {
    @Controller()
    class Slow {
      @Get()
      @FreqLimit(failing)
      @FreqLimit({ window: '1h', limit: 9, name: 'hour', countWhen: 'failure' })
      async get() {
        await sleep(400);
        return 'ok';
      }
    }
    const server = await startServer();
    const commands: string[] = [];
    const stop = await watchCommands(server.url, ({ args: [command = ''], isFromScript }) => {
      if (!isFromScript) commands.push(command.toLowerCase());
    });
    const limits = { redis: server.url, timeoutMs: 250 };
    const { url } = await startApp(platform, { controllers: [Slow], limits });
    for (let i = 0; i < 3; i++) expect(remaining(await fetch(url))).toEqual({ failures: 3, hour: 9 });
    // the first of each loads the script
    await until(() => commands.filter((command) => command.startsWith('eval')).length === 8);
    expect(commands.filter((command) => command.startsWith('eval'))).toEqual([
      ...['evalsha', 'eval', 'evalsha', 'eval'],
      ...['evalsha', 'evalsha', 'evalsha', 'evalsha'],
    ]);
    expect(lines).toEqual([]);
    stop();
    await closeApps();
    await server.stop();
  });

  it('allows no extra requests if a counter was made negative', async () => {
    let succeeds = true;
    @Controller()
    class Negative {
      @Get()
      @FreqLimit(failing)
      get() {
        if (succeeds) return 'ok';
        throw new UnauthorizedException();
      }
    }
    const { url } = await startApp(platform, { controllers: [Negative], limits: limitsIn('redis', suite) });
    succeeds = false;
    await fetch(url);
    const [key = ''] = await keysOf(suite.client, suite.namespace);
    succeeds = true;
    for (const value of [-5, 0, -1]) {
      await suite.client.set(key, value, 'PX', 30_000);
      expect(remaining(await fetch(url))).toEqual({ failures: 3 });
      expect(await suite.client.get(key)).toBeNull();
    }
    succeeds = false;
    await suite.client.set(key, -5, 'PX', 30_000);
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const response = await fetch(url);
      seen.push([response.status, remaining(response)['failures']]);
    }
    expect(seen).toEqual([
      [401, 2],
      [401, 1],
      [401, 0],
      [429, 0],
    ]);
  });

  it('keeps the charge if Redis goes away before the end', async () => {
    @Controller()
    class Lost {
      @Get()
      @FreqLimit(failing)
      async get() {
        await gone;
        return 'ok';
      }
    }
    const server = await startServer();
    const proxy = await startProxy(server.port);
    const limits = { redis: proxy.url, timeoutMs: 250 };
    const { app, url } = await startApp(platform, { controllers: [Lost], limits });
    let lose!: () => void;
    const gone = new Promise<void>((resolve) => (lose = resolve));
    const client = plainClient(server.url);
    const pending = fetch(url);
    await until(async () => (await client.dbsize()) === 1);
    proxy.refuse(true);
    proxy.reset();
    await until(() => !app.get(FreqLimitService).health().isUp);
    lose();
    const response = await pending;
    expect([response.status, remaining(response)]).toEqual([200, { failures: 2 }]);
    expect(withCode('FREQ_LIMIT_REFUND_FAILED')).toHaveLength(1);
    const [key = ''] = await client.keys('*');
    expect(await client.get(key)).toBe('1');
    // in the meantime this process counts in memory and refunds there
    expect(await statuses(5, () => fetch(url))).toEqual([200, 200, 200, 200, 200]);
    client.disconnect();
    await closeApps();
    await proxy.stop();
    await server.stop();
  });
});

describe('countWhen in a Cluster', () => {
  it('refunds in every slot', async () => {
    @Controller()
    class Slots {
      @Get(':a/:b/:c')
      @FreqLimit({ window: '1m', limit: 3, key: '{params.a}', name: 'a', countWhen: 'failure' })
      @FreqLimit({ window: '1m', limit: 3, key: '{params.b}', name: 'b', countWhen: 'success' })
      @FreqLimit({ window: '1m', limit: 3, key: '{params.c}', name: 'c', countWhen: 'failure' })
      get() {
        return 'ok';
      }
    }
    const cluster = await startCluster();
    const limits = { redis: { cluster: cluster.nodes }, namespace: suite.namespace, timeoutMs: 5_000 };
    const { url } = await startApp('express', { controllers: [Slots], limits });
    // three values in three slots
    for (let i = 0; i < 5; i++) {
      expect(remaining(await fetch(`${url}/one/${i}/three`))).toEqual({ a: 3, b: 2, c: 3 });
    }
    const keys = await Promise.all(cluster.primaries.map((node) => cluster.client(node).keys('*')));
    expect(keys.flat()).toHaveLength(5);
    expect(keys.flat().every((key) => key.includes('.b'))).toBe(true);
    await closeApps();
    await cluster.stop();
  });
});
