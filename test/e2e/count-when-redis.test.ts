import { Controller, Get, Logger, UnauthorizedException } from '@nestjs/common';
import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, type FreqLimitRule, FreqLimitService } from '../../src/index.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { startCluster, until } from '../support/cluster.js';
import { remaining } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { startProxy } from '../support/proxy.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, plainClient } from '../support/redis.js';
import { startServer } from '../support/server.js';

const suite = redisSuite();

let lines: string[];
beforeEach(() => {
  lines = [];
  const note = (message: unknown): void => void lines.push(String(message));
  jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
});

describe.each(PLATFORMS)('countWhen in Redis on %s', (platform) => {
  const failing: FreqLimitRule = {
    window: '1m',
    limit: 3,
    key: 'all',
    name: 'failures',
    countWhen: 'failure',
  };

  it('gives back by one command, without an error where handlers take longer than timeoutMs', async () => {
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
    const watched = plainClient(server.url);
    // ioredis takes a line of MONITOR that comes with its first answer for a fault, so nothing may be under way
    await watched.ping();
    const monitor = await watched.monitor();
    const commands: string[] = [];
    monitor.on('monitor', (_time: string, [command = '']: string[], source: string) => {
      if (source !== 'lua') commands.push(command.toLowerCase());
    });
    const limits = { redis: server.url, timeoutMs: 250 };
    const { url } = await startApp(platform, { controllers: [Slow], limits });
    for (let i = 0; i < 3; i++) expect(remaining(await fetch(url))).toEqual({ failures: 3, hour: 9 });
    // the first of each tells the server its script
    await until(() => commands.filter((command) => command.startsWith('eval')).length === 8);
    expect(commands.filter((command) => command.startsWith('eval'))).toEqual([
      ...['evalsha', 'eval', 'evalsha', 'eval'],
      ...['evalsha', 'evalsha', 'evalsha', 'evalsha'],
    ]);
    expect(lines).toEqual([]);
    monitor.disconnect();
    watched.disconnect();
    await closeApps();
    await server.stop();
  });

  it('grants nothing for a counter that somebody made negative', async () => {
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

  it('keeps what was charged where Redis goes away before the end', async () => {
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
    const visit = fetch(url);
    await until(async () => (await client.dbsize()) === 1);
    proxy.refuse(true);
    proxy.reset();
    await until(() => !app.get(FreqLimitService).health().isUp);
    lose();
    const response = await visit;
    expect([response.status, remaining(response)]).toEqual([200, { failures: 2 }]);
    expect(lines.filter((line) => line.includes('countWhen'))).toEqual([]);
    const [key = ''] = await client.keys('*');
    expect(await client.get(key)).toBe('1');
    // meanwhile this process counts by itself, and gives back there
    expect(await statuses(5, () => fetch(url))).toEqual([200, 200, 200, 200, 200]);
    client.disconnect();
    await closeApps();
    await proxy.stop();
    await server.stop();
  });
});

describe('countWhen in a Cluster', () => {
  it('gives back in every slot', async () => {
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
