import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimitModule, FreqLimitService, type RedisOption } from '../../src/index.js';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';
import { freePort } from '../support/server.js';

const suite = redisSuite();

beforeEach(() => {
  for (const level of ['error', 'warn'] as const) jest.spyOn(Logger.prototype, level).mockReturnValue();
});

async function startService(redis?: RedisOption) {
  const limits = redis === undefined ? {} : { redis, namespace: suite.namespace };
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
  await module.init();
  return module;
}

describe('applications opened and closed', () => {
  it('leave no connection behind', async () => {
    const { hostname, port } = new URL(redisUrl());
    const connections = async (): Promise<number> =>
      String(await suite.client.client('LIST')).split(`name=${suite.namespace} `).length - 1;
    const options = { host: hostname, port: Number(port), connectionName: suite.namespace };
    const open = await startService(options);
    expect(await connections()).toBe(1);
    await open.close();
    for (let i = 0; i < 25; i++) {
      const module = await startService(options);
      await module.get(FreqLimitService).consume({ key: 'x', window: '1m', limit: 1 });
      await module.close();
    }
    expect(await connections()).toBe(0);
  });

  it.each(['memory', 'a Redis that is away'])(
    'hold nothing that keeps the process alive, %s',
    async (kind) => {
      const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
      const redis = kind === 'memory' ? undefined : `redis://127.0.0.1:${await freePort()}`;
      const before = timers();
      const modules = await Promise.all(Array.from({ length: 5 }, () => startService(redis)));
      for (const module of modules)
        await module
          .get(FreqLimitService)
          .consume({ key: 'x', window: '365d', limit: 1 })
          .catch(() => undefined);
      await Promise.all(modules.map((module) => module.close()));
      // what is left of a connection may take a moment, but no part of a second
      for (let i = 0; i < 20 && timers() > before; i++) await sleep(10);
      expect(timers()).toBeLessThanOrEqual(before);
    },
  );
});

describe('an application closed twice', () => {
  it('asks no more for a Redis that is away', async () => {
    const port = await freePort();
    const module = await startService(`redis://127.0.0.1:${port}`);
    await module.close();
    await module.close();
    const server = createServer();
    let asked = 0;
    server.on('connection', () => asked++);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    // the third attempt to connect would come within this time
    await sleep(500);
    expect(asked).toBe(0);
    server.close();
  });
});
