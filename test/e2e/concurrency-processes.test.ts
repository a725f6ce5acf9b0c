import { Controller, Get } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, FreqLimitService, type HoldCheck } from 'nestjs-freq-limit';
import { LEASE_TIMES } from '../../src/core/leases.js';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { captureLog } from '../support/log.js';
import { type SeenCommand, watchCommands } from '../support/monitor.js';
import { redisSuite } from '../support/redis-suite.js';
import { redisUrl } from '../support/redis.js';
import { slotsOf, slotsTaken, untilTaken, Work } from '../support/slots.js';
import { startTypeScript, type TypeScriptProcess } from '../support/typescript-process.js';

const log = captureLog();
const work = new Work();
const times = { ...LEASE_TIMES };
const processes: TypeScriptProcess[] = [];

afterEach(async () => {
  work.finish();
  Object.assign(LEASE_TIMES, times);
  await Promise.all(processes.splice(0).map((one) => one.stop()));
});

const suite = redisSuite();

const check: HoldCheck = { name: 'jobs', key: 'all', concurrency: 4 };
const limits = () => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

@Controller()
class Exports {
  @Get()
  @FreqLimit({ name: 'slots', concurrency: 50, key: '{ip}' })
  @FreqLimit({ name: 'rate', window: '1m', limit: 1_000, key: '{ip}' })
  async get() {
    await work.run();
    return 'ok';
  }
}

const start = (): Promise<TestApp> => startApp('express', { controllers: [Exports], limits: limits() });

/** Another process with slots. */
async function holding(holds: number, shorter?: Partial<typeof LEASE_TIMES>): Promise<TypeScriptProcess> {
  const task = JSON.stringify({ limits: limits(), check, holds, times: shorter });
  const one = startTypeScript(new URL('concurrency-process.ts', import.meta.url), [task]);
  processes.push(one);
  expect(await one.nextMessage()).toBe('holds');
  return one;
}

describe('slots of several processes', () => {
  it('are free within the life of a lease after kill -9', async () => {
    const { app } = await start();
    const [one] = [await holding(2), await holding(2)];
    expect((await app.get(FreqLimitService).hold(check, () => 1)).allowed).toBe(false);
    const killedAt = performance.now();
    one.process.kill('SIGKILL');
    await untilTaken(app, check, 2, LEASE_TIMES.lifeMs + 1_000);
    expect(performance.now() - killedAt).toBeLessThan(LEASE_TIMES.lifeMs + 1_000);
    expect((await app.get(FreqLimitService).hold(check, () => 1)).allowed).toBe(true);
    // the other process has renewed its own meanwhile
    await sleep(2_000);
    expect(await slotsTaken(app, check)).toBe(2);
  }, 40_000);

  it('are free at once when a process shuts down', async () => {
    const { app } = await start();
    const one = await holding(4);
    one.process.send('close');
    await untilTaken(app, check, 0, 3_000);
    expect((await app.get(FreqLimitService).hold(check, () => 1)).allowed).toBe(true);
  });

  it('of a process that stood still are taken again, and its work gets a signal', async () => {
    const shorter = { lifeMs: 400, renewEveryMs: 100 };
    Object.assign(LEASE_TIMES, shorter);
    const { app } = await start();
    const one = await holding(3, shorter);
    one.process.send(1_200);
    await untilTaken(app, check, 0);
    for (let i = 0; i < 3; i++) expect(await one.nextMessage()).toBe('aborted');
    await untilTaken(app, check, 3);
  });
});

describe('the calls to Redis', () => {
  it('are one to take a slot with the rates, one to release it, and one to renew all', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 1_500, renewEveryMs: 500 });
    const { app, url } = await start();
    await fetch(`${url}/none`);
    const seen: SeenCommand[] = [];
    const stop = await watchCommands(redisUrl(), (command) => seen.push(command));
    const calls = (): number =>
      seen.filter(({ args, isFromScript }) => !isFromScript && JSON.stringify(args).includes(suite.namespace))
        .length;
    try {
      const sent = [fetch(url)];
      await work.untilRunning(1);
      expect(calls()).toBe(1);
      for (let i = 2; i <= 20; i++) {
        sent.push(fetch(url));
        await work.untilRunning(i);
      }
      await until(() => calls() > 20);
      const before = calls();
      await sleep(600);
      // the leases of 20 requests, at most twice within this time
      expect(calls() - before).toBeGreaterThanOrEqual(1);
      expect(calls() - before).toBeLessThanOrEqual(2);
      expect(await slotsTaken(app, slotsOf(Exports, 'get'))).toBe(20);
      const held = calls();
      work.finish();
      await Promise.all(sent.map(async (one) => (await one).text()));
      await sleep(100);
      expect(calls() - held).toBeLessThanOrEqual(20);
      const ended = calls();
      await sleep(1_200);
      expect(calls()).toBe(ended);
      expect(log.withCode('FREQ_LIMIT_LEASE_LAPSED')).toEqual([]);
    } finally {
      stop();
    }
    await untilTaken(app, slotsOf(Exports, 'get'), 0);
  });

  it('keep the slot of a handler that runs longer than the life of a lease', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 300, renewEveryMs: 100 });
    const { app, url } = await start();
    const sent = fetch(url);
    await work.untilRunning(1);
    for (let i = 0; i < 12; i++) {
      await sleep(100);
      expect(await slotsTaken(app, slotsOf(Exports, 'get'))).toBe(1);
    }
    work.finish();
    await (await sent).text();
    await untilTaken(app, slotsOf(Exports, 'get'), 0);
  });

  it('take slots again that Redis has lost, with one line in the log', async () => {
    Object.assign(LEASE_TIMES, { lifeMs: 1_500, renewEveryMs: 200 });
    const { app, url } = await start();
    const sent = fetch(url);
    await work.untilRunning(1);
    const lost = await suite.client.keys(`${suite.namespace}:*leases*`);
    expect(lost).toHaveLength(1);
    await suite.client.del(...lost);
    await untilTaken(app, slotsOf(Exports, 'get'), 0);
    await untilTaken(app, slotsOf(Exports, 'get'), 1);
    expect(log.withCode('FREQ_LIMIT_LEASE_LAPSED')).toHaveLength(1);
    work.finish();
    await (await sent).text();
    await untilTaken(app, slotsOf(Exports, 'get'), 0);
  });
});
