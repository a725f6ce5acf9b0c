import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimitModule, FreqLimitService, type RedisOption } from 'nestjs-freq-limit';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';
import { freePort } from '../support/server.js';

const suite = redisSuite();

captureLog();

async function startService(redis?: RedisOption) {
  const limits = redis === undefined ? {} : { redis, namespace: suite.namespace };
  const module = await Test.createTestingModule({ imports: [FreqLimitModule.forRoot(limits)] }).compile();
  await module.init();
  return module;
}

describe('applications opened and closed', () => {
  it('leave no connection open', async () => {
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

  it.each(['memory', 'an unreachable Redis'])('do not keep the process alive, %s', async (kind) => {
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
    // closing a connection may take a moment, but far less than a second
    for (let i = 0; i < 20 && timers() > before; i++) await sleep(10);
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

describe('an application closed twice', () => {
  it('stops connecting to an unreachable Redis', async () => {
    const port = await freePort();
    const module = await startService(`redis://127.0.0.1:${port}`);
    await module.close();
    await module.close();
    const server = createServer();
    let attempts = 0;
    server.on('connection', () => attempts++);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    // the third attempt to connect would be within this time
    await sleep(500);
    expect(attempts).toBe(0);
    server.close();
  });
});
