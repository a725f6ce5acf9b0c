import { Controller, Get, Post } from '@nestjs/common';
import { type ContextAdapter, FreqLimit, type FreqLimitOptions } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const log = captureLog();

describe.each(PLATFORMS)('answers and log lines on %s', (platform) => {
  it('contain no phone number and no line that a client wrote', async () => {
    const phone = '13800000000\r\nERROR forged: yes';
    @Controller()
    class Leaky {
      @Post()
      @FreqLimit({ window: '1m', limit: 2, key: '{body.phone}' })
      @FreqLimit({
        window: '1m',
        limit: () => 'no limit\nERROR forged: yes' as never,
        name: 'odd',
        skipIf: (context) =>
          context.switchToHttp().getRequest<{ body: { odd?: boolean } }>().body.odd !== true,
      })
      send() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, {
      controllers: [Leaky],
      limits: { ...inRedis(), denyCache: false, onStoreError: 'deny' },
    });
    log.clear();
    const answers: string[] = [];
    const send = async (body: object): Promise<number> => {
      const answer = await post(url, body);
      answers.push(JSON.stringify([...answer.headers]), await answer.text());
      return answer.status;
    };
    expect([await send({ phone }), await send({ phone }), await send({ phone })]).toEqual([201, 201, 429]);
    expect(await send({ phone, odd: true })).toBe(500);
    const [key] = await keysOf(suite.client, suite.namespace);
    await suite.client.del(key!);
    await suite.client.lpush(key!, 'x');
    expect(await send({ phone })).toBe(503);
    await suite.client.del(key!);
    expect(log.lines.length).toBeGreaterThanOrEqual(2);
    expect(answers.join('\n')).not.toMatch(/13800000000|forged/);
    expect(log.text()).not.toMatch(/13800000000|^ERROR forged/m);
  });
});

describe.each(PLATFORMS)('a context adapter that fails on %s', (platform) => {
  const fail = (): never => {
    throw new Error('no 13800000000\r\nERROR forged: yes');
  };

  it.each<[string, ContextAdapter, number]>([
    ['request', { request: fail }, 500],
    ['address', { address: fail }, 500],
    ['toError', { toError: fail }, 429],
  ])('in its %s forges no line of the log', async (_, http, status) => {
    @Controller()
    class Once {
      @Get()
      @FreqLimit('1m', 1)
      get() {
        return 'ok';
      }
    }
    const { url } = await startApp(platform, { controllers: [Once], limits: { contextAdapters: { http } } });
    expect((await statuses(2, () => fetch(url)))[1]).toBe(status);
    expect(log.text()).not.toMatch(/^ERROR forged/m);
  });
});
