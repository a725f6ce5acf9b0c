import { Controller, Get, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { FreqLimit, FreqLimitGuard, type FreqLimitOptions } from 'nestjs-freq-limit';
import { startApp, statuses } from '../support/app.js';
import {
  messageClient,
  closeMicroservices,
  startHybrid,
  startMicroservice,
  transportOf,
  denied,
} from '../support/microservices.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

afterEach(closeMicroservices);

const events: unknown[] = [];

const { warnings } = captureLog();

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
    'FREQ_LIMIT_UNPROTECTED_MESSAGE_HANDLER: Both.limited, Both.also: Nest may call these message ' +
    'handlers without FreqLimitGuard, and then their limits have no effect. In an application that also serves HTTP, Nest applies global guards ' +
    'to them only if the microservice is connected with { inheritAppConfig: true }. Connect it like that, or add ' +
    '@UseGuards(FreqLimitGuard) to the handlers, which also ends this warning.';

  it('has no global guard on its messages, with a warning at start-up', async () => {
    const transport = await transportOf('tcp');
    const { url } = await startHybrid(transport, { controllers: [Both, Guarded], limits: inRedis() });
    const client = messageClient(transport);
    expect([await client.send('limited', {}), await client.send('limited', {})]).toEqual(['ok', 'ok']);
    expect([await client.send('guarded', {}), await client.send('guarded', {})]).toEqual(['ok', denied()]);
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429]);
    expect(warnings).toEqual([warning]);
  });

  it('has the global guard on its messages with inheritAppConfig', async () => {
    const transport = await transportOf('tcp');
    const parts = { controllers: [Both, Guarded], limits: inRedis() };
    await startHybrid(transport, parts, { inheritAppConfig: true });
    const client = messageClient(transport);
    expect([await client.send('limited', {}), await client.send('limited', {})]).toEqual(['ok', denied()]);
    expect([await client.send('guarded', {}), await client.send('guarded', {})]).toEqual(['ok', denied()]);
    expect(await client.send('free', {})).toBe('free');
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(2);
  });

  it('has no warning if all limited messages are guarded, or only rules of the module apply', async () => {
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

  it('has a warning that a microservice without HTTP does not have', async () => {
    await startMicroservice(await transportOf('tcp'), { controllers: [Both] });
    expect(warnings).toEqual([]);
  });
});
