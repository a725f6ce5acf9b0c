import { HttpException, Injectable } from '@nestjs/common';
import { jest } from '@jest/globals';
import { ExternalContextCreator } from '@nestjs/core';
import { RMQ } from '../../examples/microservices/rmq.adapter.js';
import { FreqLimit, type FreqLimitOptions, isFreqLimitExceeded } from 'nestjs-freq-limit';
import { startApp } from '../support/app.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

const unreachable = jest.fn();

const { warnings, clear } = captureLog();

describe('a handler that another library calls, with its own arguments and context type', () => {
  const seen: string[] = [];

  @Injectable()
  class Queue {
    free(message: unknown) {
      return message;
    }
    @Tagged()
    @FreqLimit('1m', 2, '{ip}')
    limited(message: unknown) {
      return message;
    }
    @Tagged()
    @FreqLimit('1m', 1, '{body.phone}{headers.x-tenant}')
    phone() {
      return 'sent';
    }
    @Tagged()
    @FreqLimit({ window: '1m', limit: 1, key: 'all', countWhen: 'failure' })
    failures(message: string) {
      if (message === 'wrong') throw new Error('wrong');
      return message;
    }
  }

  /** Like the decorator of such a library. */
  function Tagged(): MethodDecorator {
    return (_target, name, descriptor) => {
      seen.push(String(name));
      Reflect.defineMetadata('queue', true, descriptor.value as object);
    };
  }

  async function start(limits: FreqLimitOptions) {
    const { app } = await startApp('express', { providers: [Queue], limits });
    const queue = app.get(Queue);
    return (name: 'free' | 'limited' | 'phone' | 'failures', ...args: unknown[]): Promise<unknown> => {
      const call = app
        .get(ExternalContextCreator)
        .create(
          queue,
          queue[name] as (...args: unknown[]) => unknown,
          name,
          undefined,
          undefined,
          undefined,
          undefined,
          undefined,
          'rmq',
        );
      return call(...args) as Promise<unknown>;
    };
  }

  it('runs without rules, whatever its arguments are', async () => {
    const call = await start(inRedis());
    for (const args of [[], ['text', 7], [undefined], [null], [{ ip: '10.0.0.1' }, {}]]) {
      expect(await call('free', ...args)).toBe(args[0]);
    }
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it('is not counted by rules of the module by address', async () => {
    const call = await start({ ...inRedis(), rules: [{ window: '1m', limit: 1, key: '{ip}' }] });
    clear();
    for (const message of [{ ip: '10.0.0.1' }, 'text', undefined])
      expect(await call('free', message)).toBe(message);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('is counted by its own rules, for all clients together, and denied by an HTTP exception without headers', async () => {
    const call = await start({ ...inRedis(), headers: 'both' });
    // the second argument looks like a response
    const raw = { header: unreachable, setHeader: unreachable };
    expect(await call('limited', { ip: '10.0.0.1' }, raw)).toEqual({ ip: '10.0.0.1' });
    expect(await call('limited', 'text', raw)).toBe('text');
    const error = await call('limited', { ip: '10.0.0.2' }, raw).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpException);
    expect((error as HttpException).getStatus()).toBe(429);
    expect(isFreqLimitExceeded(error)).toBe(true);
    expect(await keysOf(suite.client, suite.namespace)).toHaveLength(1);
  });

  it('settles each call separately, even if calls share all arguments', async () => {
    const call = await start(inRedis());
    const shared = {};
    expect(await call('failures', 'right', shared)).toBe('right');
    await expect(call('failures', 'wrong', shared)).rejects.toThrow('wrong');
    await expect(call('failures', 'right', shared)).rejects.toThrow('Too many requests');
  });

  it('is read and answered by the context adapter of the application', async () => {
    const call = await start({ ...inRedis(), contextAdapters: { rmq: RMQ } });
    const from = (tenant: string) => ({ properties: { headers: { 'x-tenant': tenant } } });
    expect(await call('phone', { phone: 1 }, from('a'))).toBe('sent');
    expect(await call('phone', { phone: 1 }, from('b'))).toBe('sent');
    const error = await call('phone', { phone: 1 }, from('a')).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(HttpException);
    expect((error as Error).message).toBe('Too many requests. Try again in 1 minute.');
    expect(isFreqLimitExceeded(error)).toBe(true);
  });
});
