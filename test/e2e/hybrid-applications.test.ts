import { Controller, Get, Logger, UseGuards } from '@nestjs/common';
import { jest } from '@jest/globals';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { FreqLimit, FreqLimitGuard, type FreqLimitOptions } from '../../src/index.js';
import { startApp, statuses } from '../support/app.js';
import {
  callerOf,
  closeMicroservices,
  startHybrid,
  startMicroservice,
  transportOf,
  denied,
} from '../support/microservices.js';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

afterEach(closeMicroservices);

const events: unknown[] = [];

function logged(level: 'warn' | 'error'): string[] {
  const lines: string[] = [];
  jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => {
    lines.push(String(line));
  });
  return lines;
}

describe('a hybrid application', () => {
  @Controller()
  class Both {
    @Get()
    @FreqLimit('1m', 1)
    get() {
      return 'ok';
    }
    @MessagePattern('limited')
    @FreqLimit('1m', 1, 'all')
    limited() {
      return 'ok';
    }
    @EventPattern('also')
    @FreqLimit('1m', 1, 'all')
    also(@Payload() message: unknown) {
      events.push(message);
    }
    @MessagePattern('free')
    free() {
      return 'free';
    }
  }
  @Controller()
  class Guarded {
    @MessagePattern('guarded')
    @UseGuards(FreqLimitGuard)
    @FreqLimit('1m', 1, 'all')
    guarded() {
      return 'ok';
    }
  }
  const warning =
    'Both.limited, Both.also: limits on message handlers of an application that answers HTTP too. Nest puts global ' +
    'guards before them only where the microservice is connected with { inheritAppConfig: true }: connect it so, or ' +
    'write @UseGuards(FreqLimitGuard) beside the limits, which also ends this warning.';

  it('has no global guard before its messages, and says so when it starts', async () => {
    const warnings = logged('warn');
    const transport = await transportOf('tcp');
    const { url } = await startHybrid(transport, { controllers: [Both, Guarded], limits: inRedis() });
    const caller = callerOf(transport);
    expect([await caller.ask('limited', {}), await caller.ask('limited', {})]).toEqual(['ok', 'ok']);
    expect([await caller.ask('guarded', {}), await caller.ask('guarded', {})]).toEqual(['ok', denied()]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(warnings).toEqual([warning]);
  });

  it('has it with inheritAppConfig', async () => {
    const transport = await transportOf('tcp');
    const parts = { controllers: [Both, Guarded], limits: inRedis() };
    await startHybrid(transport, parts, { inheritAppConfig: true });
    const caller = callerOf(transport);
    expect([await caller.ask('limited', {}), await caller.ask('limited', {})]).toEqual(['ok', denied()]);
    expect([await caller.ask('guarded', {}), await caller.ask('guarded', {})]).toEqual(['ok', denied()]);
    expect(await caller.ask('free', {})).toBe('free');
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(2);
  });

  it('is not warned where all limited messages are guarded, or have the module’s rules alone', async () => {
    const warnings = logged('warn');
    @Controller()
    @UseGuards(class extends FreqLimitGuard {})
    class GuardedAsClass {
      @MessagePattern('a')
      @FreqLimit('1m', 1, 'all')
      a() {}
    }
    @Controller()
    class ModuleRulesAlone {
      @MessagePattern('b')
      b() {}
    }
    const limits = { rules: [{ window: '1m', limit: 9 }] } as const;
    await startApp('express', { controllers: [GuardedAsClass, ModuleRulesAlone, Guarded], limits });
    expect(warnings).toEqual([]);
  });

  it('is not meant where there is no HTTP', async () => {
    const warnings = logged('warn');
    await startMicroservice(await transportOf('tcp'), { controllers: [Both] });
    expect(warnings).toEqual([]);
  });
});
