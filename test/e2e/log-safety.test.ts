import { Controller, Get, Logger, Post } from '@nestjs/common';
import { jest } from '@jest/globals';
import { type ContextAdapter, FreqLimit, type FreqLimitOptions } from '../../src/index.js';
import { PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();

const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

let lines: string[];

beforeEach(() => {
  lines = [];
  for (const level of ['error', 'warn'] as const) {
    const note = (...parts: unknown[]): void => void lines.push(parts.map(String).join('\n'));
    jest.spyOn(Logger.prototype, level).mockImplementation(note);
  }
});

describe.each(PLATFORMS)('what an answer and a log line tell, %s', (platform) => {
  it('is nobody’s phone number, and no line that a caller wrote', async () => {
    const phone = '13800000000\r\nERROR forged: yes';
    const lines: string[] = [];
    for (const level of ['error', 'warn', 'log'] as const) {
      const note = (...parts: unknown[]): void => void lines.push(...parts.map(String));
      jest.spyOn(Logger.prototype, level).mockImplementation(note);
    }
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
    lines.length = 0;
    const told: string[] = [];
    const send = async (body: object): Promise<number> => {
      const answer = await post(url, body);
      told.push(JSON.stringify([...answer.headers]), await answer.text());
      return answer.status;
    };
    expect([await send({ phone }), await send({ phone }), await send({ phone })]).toEqual([201, 201, 429]);
    expect(await send({ phone, odd: true })).toBe(500);
    const [key] = await keysOf(suite.client, suite.namespace);
    await suite.client.del(key!);
    await suite.client.lpush(key!, 'x');
    expect(await send({ phone })).toBe(503);
    await suite.client.del(key!);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(told.join('\n')).not.toMatch(/13800000000|forged/);
    expect(lines.join('\n')).not.toMatch(/13800000000|^ERROR forged/m);
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
    expect(lines.join('\n')).not.toMatch(/^ERROR forged/m);
  });
});
