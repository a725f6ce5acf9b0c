import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { FreqLimitService, type FreqLimitOptions } from 'nestjs-freq-limit';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import { closeApps, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { clientOf, redisUrl, uniqueNamespace } from '../support/redis.js';

captureLog();

afterEach(closeApps);

async function serve(redis: FreqLimitOptions['redis'], timeoutMs = 100) {
  const limits = { redis, namespace: uniqueNamespace(), timeoutMs };
  const { app } = await startApp('express', { limits });
  const service = app.get(FreqLimitService);
  const one = () => service.consume({ key: 'silence', window: '1h', limit: 1e6 });
  return { one, client: clientOf(app.get(FREQ_LIMIT_STORE)) };
}

describe('a silent connection', () => {
  let proxy: Proxy;

  beforeEach(async () => {
    proxy = await startProxy(Number(new URL(redisUrl()).port));
  });
  afterEach(() => proxy.stop());

  it('is closed and replaced', async () => {
    const { one, client } = await serve({ host: '127.0.0.1', port: proxy.port, socketTimeout: 50 });
    await one();
    const { stream } = client;
    proxy.isDropping = true;
    expect((await one()).source).toBe('memory');
    await until(() => stream.destroyed);
    proxy.isDropping = false;
    await until(async () => (await one()).source === 'store');
    expect(client.stream).not.toBe(stream);
  });

  it('is kept while answers arrive, however late', async () => {
    const { one, client } = await serve({ host: '127.0.0.1', port: proxy.port, socketTimeout: 300 });
    await one();
    const { stream } = client;
    proxy.delayMs = 200;
    // most answers are too late for their request, but still arrive
    for (let i = 0; i < 4; i++) await one();
    expect(client.stream).toBe(stream);
    expect(stream.destroyed).toBe(false);
  });

  it('is kept if no command waits', async () => {
    const { one, client } = await serve({ host: '127.0.0.1', port: proxy.port, socketTimeout: 20 }, 5_000);
    await one();
    const { stream } = client;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(stream.destroyed).toBe(false);
    expect(client.stream).toBe(stream);
  });
});

describe('a server that accepts connections and sends nothing', () => {
  let silent: Server;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    sockets.length = 0;
    silent = createServer((socket) => {
      socket.on('error', () => undefined);
      sockets.push(socket);
    });
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    silent.close();
    await once(silent, 'close');
  });

  it('gets another connection', async () => {
    const { port } = silent.address() as { port: number };
    const { one } = await serve({ host: '127.0.0.1', port, commandTimeout: 100 });
    expect((await one()).source).toBe('memory');
    await until(() => sockets.length >= 2);
  });
});

it('no timer of ioredis stays in charge of a connection', async () => {
  const { hostname: host, port } = new URL(redisUrl());
  const { client } = await serve({ host, port: Number(port), socketTimeout: 1_000, commandTimeout: 1_000 });
  expect(client.options).not.toHaveProperty('socketTimeout');
  expect(client.options).not.toHaveProperty('commandTimeout');
});
