import { Controller, type ExecutionContext, Get, UseGuards } from '@nestjs/common';
import { FreqLimit, FreqLimitCharge, FreqLimitGuard, type FreqLimitOptions } from 'nestjs-freq-limit';
import { startApp } from '../support/app.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { slotsOf, slotsTaken, untilTaken, Work } from '../support/slots.js';

captureLog();
const work = new Work();

afterEach(() => {
  work.finish();
});

const suite = redisSuite();

describe.each(EVERYWHERE)('a slot and guards on %s, %s', (platform, kind) => {
  const limits = (more: FreqLimitOptions = {}) => ({ ...limitsIn(kind, suite), ...more });

  it('is taken once, however many guards decide about a request', async () => {
    @Controller()
    @UseGuards(FreqLimitGuard)
    class Twice {
      @Get()
      @UseGuards(FreqLimitGuard)
      @FreqLimit({ name: 'slots', concurrency: 3, key: '{ip}' })
      async get() {
        await work.run();
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Twice], limits: limits() });
    const sent = fetch(url);
    await work.untilRunning(1);
    expect(await slotsTaken(app, slotsOf(Twice, 'get'))).toBe(1);
    work.finish();
    await (await sent).text();
    await untilTaken(app, slotsOf(Twice, 'get'), 0);
  });

  it('is free if the guard itself fails after it was taken', async () => {
    const calls = new WeakMap<object, number>();
    @Controller()
    class Fails {
      @Get()
      @FreqLimit({ name: 'slots', concurrency: 3, key: '{ip}' })
      get() {
        return 'ok';
      }
    }
    const response = (context: ExecutionContext): object => {
      const request = context.getArgByIndex<object>(0);
      const call = (calls.get(request) ?? 0) + 1;
      calls.set(request, call);
      // when the headers are set
      if (call === 3) throw new Error('a failing adapter');
      return context.getArgByIndex<object>(1);
    };
    const parts = { controllers: [Fails], limits: limits({ contextAdapters: { http: { response } } }) };
    const { app, url } = await startApp(platform, parts);
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(url);
      await answer.text();
      expect(answer.status).toBe(500);
    }
    await untilTaken(app, slotsOf(Fails, 'get'), 0);
  });

  it('has nothing to settle', async () => {
    @Controller()
    class Settled {
      @Get()
      @FreqLimit({ name: 'slots', concurrency: 3, key: '{ip}' })
      get(@FreqLimitCharge('slots') charge: FreqLimitCharge) {
        return charge.cost;
      }
    }
    await expect(startApp(platform, { controllers: [Settled], limits: limits() })).rejects.toThrow(
      'the rule "slots" has concurrency: its slot is released when the request ends, and there is nothing to settle',
    );
  });
});
