import { Controller, Get } from '@nestjs/common';
import { FreqLimit, FreqLimitService, type HoldCheck } from 'nestjs-freq-limit';
import { LEASE_TIMES } from '../../src/core/leases.js';
import { closeApps, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import { type Server, startServer } from '../support/server.js';
import { slotsOf, slotsTaken, untilTaken, Work } from '../support/slots.js';

captureLog();
const work = new Work();
const times = { ...LEASE_TIMES };
const servers: Server[] = [];

afterEach(async () => {
  work.finish();
  Object.assign(LEASE_TIMES, times);
  await closeApps();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

@Controller()
class Exports {
  @Get('memory')
  @FreqLimit({ name: 'slots', concurrency: 2, key: '{ip}' })
  async memory() {
    await work.run();
  }
  @Get('deny')
  @FreqLimit({ name: 'slots', concurrency: 2, key: '{ip}', onStoreError: 'deny' })
  async deny() {
    await work.run();
  }
  @Get('allow')
  @FreqLimit({ name: 'slots', concurrency: 1, key: '{ip}', onStoreError: 'allow' })
  async allow() {
    await work.run();
  }
}

const two: HoldCheck = { name: 'jobs', key: 'all', concurrency: 2 };

async function start(): Promise<TestApp & { server: Server }> {
  const server = await startServer();
  servers.push(server);
  const limits = { redis: server.url, timeoutMs: 200 };
  return { ...(await startApp('express', { controllers: [Exports], limits })), server };
}

async function restart({ port }: Server): Promise<void> {
  servers.push(await startServer([], port));
}

async function running(url: string, count: number): Promise<Promise<Response>[]> {
  const before = work.running;
  const sent = Array.from({ length: count }, () => fetch(url));
  await work.untilRunning(before + count);
  return sent;
}

describe('while Redis is away', () => {
  it('a process counts what it has taken before and since, and Redis counts it again after that', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 1_500, renewEveryMs: 200 });
    const { app, url, server } = await start();
    const sent = await running(`${url}/memory`, 1);
    await server.stop();
    sent.push(...(await running(`${url}/memory`, 1)));
    expect((await fetch(`${url}/memory`)).status).toBe(429);
    await restart(server);
    await until(() => app.get(FreqLimitService).health().isUp);
    await untilTaken(app, slotsOf(Exports, 'memory'), 2);
    expect((await fetch(`${url}/memory`)).status).toBe(429);
    work.finish();
    await Promise.all(sent);
    await untilTaken(app, slotsOf(Exports, 'memory'), 0);
    expect(work.most).toBe(2);
  });

  it('slots are free when their requests end, and stay free after that', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 1_500, renewEveryMs: 200 });
    const { app, url, server } = await start();
    const sent = await running(`${url}/memory`, 2);
    await server.stop();
    expect((await fetch(`${url}/memory`)).status).toBe(429);
    work.finish();
    await Promise.all(sent);
    await untilTaken(app, slotsOf(Exports, 'memory'), 0);
    await restart(server);
    await until(() => app.get(FreqLimitService).health().isUp);
    expect(await slotsTaken(app, slotsOf(Exports, 'memory'))).toBe(0);
  });

  it("requests get 503 with onStoreError: 'deny', and pass without a slot with 'allow'", async () => {
    const { url, server } = await start();
    await server.stop();
    expect((await fetch(`${url}/deny`)).status).toBe(503);
    const sent = await running(`${url}/allow`, 3);
    work.finish();
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('the signal of held work aborts when the slot could not be renewed for its life', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 800, renewEveryMs: 200 });
    const { app, server } = await start();
    let signal: AbortSignal | undefined;
    const held = app.get(FreqLimitService).hold(two, async (given) => {
      ({ signal } = given);
      await work.run();
    });
    await work.untilRunning(1);
    const stoppedAt = performance.now();
    await server.stop();
    await until(() => signal?.aborted === true, 3_000);
    const waitedMs = performance.now() - stoppedAt;
    expect(waitedMs).toBeGreaterThan(300);
    expect(waitedMs).toBeLessThan(1_500);
    expect((signal?.reason as Error).message).toBe(
      'The slot could not be renewed in time, so others may take it',
    );
    work.finish();
    await held;
  });
});
