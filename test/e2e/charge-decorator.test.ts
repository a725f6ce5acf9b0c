import { Controller, Get, Param, Post, Res, Sse, StreamableFile, type Type } from '@nestjs/common';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { finalize, from } from 'rxjs';
import {
  FreqLimit,
  FreqLimitCharge,
  type FreqLimitCharges,
  FreqLimitGuard,
  type FreqLimitOptions,
  isFreqLimitError,
  SkipFreqLimit,
} from 'nestjs-freq-limit';
import { startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { beginStream } from '../support/streamed.js';
import { usedOf } from '../support/used.js';

const suite = redisSuite();
const log = captureLog();

const tokens = { name: 'tokens', window: '1d', limit: 1_000, key: 'all', cost: 100 } as const;
const money = { name: 'money', window: '1d', limit: 500, key: 'all', cost: 10 } as const;

describe.each(EVERYWHERE)('@FreqLimitCharge on %s in %s', (platform, kind) => {
  const start = (controller: Type, more: FreqLimitOptions = {}) =>
    startApp(platform, { controllers: [controller], limits: { ...limitsIn(kind, suite), ...more } });

  it('settles one rule, and the headers show it', async () => {
    @Controller()
    class Chat {
      @Get(':used')
      @FreqLimit(tokens)
      async ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge, @Param('used') used: string) {
        await charge.settle(Number(used));
        await charge.settle(1);
        return charge.cost;
      }
    }
    const { url } = await start(Chat);
    const ask = async (used: number) => {
      const response = await fetch(`${url}/${used}`);
      return [response.status, remaining(response)['tokens'], await response.json()];
    };
    expect(await ask(40)).toEqual([200, 960, 100]);
    expect(await ask(100)).toEqual([200, 860, 100]);
    expect(await ask(2_000)).toEqual([200, 0, 100]);
    expect((await ask(1)).slice(0, 2)).toEqual([429, 0]);
    expect(log.lines).toEqual([]);
  });

  it('settles several rules at once', async () => {
    @Controller()
    @FreqLimit({ ...tokens, name: 'requests', cost: 1 })
    class Chat {
      @Get()
      @FreqLimit(tokens)
      @FreqLimit(money)
      async ask(@FreqLimitCharge() { settle, costs }: FreqLimitCharges) {
        await settle({ tokens: 812, money: 3 });
        return costs;
      }
    }
    const { url } = await start(Chat, { rules: [{ ...money, name: 'all', cost: 7 }] });
    const response = await fetch(url);
    expect(await response.json()).toEqual({ all: 7, requests: 1, tokens: 100, money: 10 });
    expect(remaining(response)).toEqual({ all: 493, requests: 999, tokens: 188, money: 497 });
  });

  it('goes before actualCost, and after countWhen', async () => {
    const called: string[] = [];
    const rule = (name: string, countWhen: 'request' | 'failure') => ({
      ...{ ...tokens, name, countWhen },
      actualCost: () => {
        called.push(name);
        return 5;
      },
    });
    @Controller()
    class Chat {
      @Get()
      @FreqLimit(rule('a', 'request'))
      @FreqLimit(rule('b', 'request'))
      @FreqLimit(rule('c', 'failure'))
      async ask(@FreqLimitCharge() { settle }: FreqLimitCharges) {
        await settle({ a: 40, c: 40 });
        return called.length;
      }
    }
    const { url } = await start(Chat);
    const response = await fetch(url);
    expect([remaining(response), await response.json()]).toEqual([{ a: 960, b: 995, c: 1_000 }, 0]);
    expect(called).toEqual(['b']);
  });

  it('settles also if the handler fails afterwards', async () => {
    @Controller()
    class Chat {
      @Get('plain')
      @FreqLimit(tokens)
      async plain(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(40);
        throw new Error('broken');
      }
      @Get('settled')
      @FreqLimit({ ...tokens, actualCost: () => 7 })
      async settled(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(40);
        throw new Error('broken');
      }
    }
    const { url } = await start(Chat);
    for (const path of ['plain', 'settled']) {
      const response = await fetch(`${url}/${path}`);
      expect([response.status, remaining(response)]).toEqual([500, { tokens: 960 }]);
    }
  });

  it('is 500 for a wrong number, and what was charged stays', async () => {
    const thrown: unknown[] = [];
    @Controller()
    class Chat {
      @Get()
      @FreqLimit(tokens)
      async ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        try {
          await charge.settle(1.5);
        } catch (error) {
          thrown.push(error);
          throw error;
        }
      }
    }
    const { url } = await start(Chat);
    const response = await fetch(url);
    expect([response.status, remaining(response)]).toEqual([500, { tokens: 900 }]);
    expect(thrown.map((error) => isFreqLimitError(error) && error.message)).toEqual([
      'Chat.ask: settle: rule "tokens": 1.5 is not a whole number from 0 to 2^53 - 1; round it up with Math.ceil(…)',
    ]);
  });

  it('of a rule that is skipped has no cost, and settles nothing', async () => {
    @Controller()
    class Chat {
      @Get('rule')
      @FreqLimit({ ...tokens, skipIf: () => true })
      @FreqLimit(money)
      async rule(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(40);
        return charge.cost;
      }
      @Get('handler')
      @SkipFreqLimit('tokens')
      @FreqLimit(money)
      async handler(
        @FreqLimitCharge('money') charge: FreqLimitCharge,
        @FreqLimitCharge('tokens') skipped: FreqLimitCharge,
      ) {
        await charge.settle(40);
        await skipped.settle(40);
        return charge.cost + skipped.cost;
      }
      @Get('module')
      @FreqLimit(tokens)
      async module(@FreqLimitCharge() { settle, costs }: FreqLimitCharges) {
        await settle({ tokens: 40 });
        return costs;
      }
    }
    const { url } = await start(Chat, {
      rules: [tokens],
      skipIf: (context) => context.getHandler().name === 'module',
    });
    const rule = await fetch(`${url}/rule`);
    expect([await rule.json(), remaining(rule)]).toEqual([0, { money: 490 }]);
    const handler = await fetch(`${url}/handler`);
    expect([await handler.json(), remaining(handler)]).toEqual([10, { money: 460 }]);
    const module = await fetch(`${url}/module`);
    expect([module.status, await module.json()]).toEqual([200, {}]);
  });

  it('settles nothing without a guard', async () => {
    @Controller()
    class Chat {
      @Get()
      @FreqLimit(tokens)
      async ask(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        await charge.settle(40);
        return charge.cost;
      }
    }
    const { url } = await startApp(platform, { controllers: [Chat] }, (builder) =>
      builder.overrideGuard(FreqLimitGuard).useValue({ canActivate: () => true }),
    );
    expect(await (await fetch(url)).json()).toBe(0);
  });

  it('works in a subclass that inherits the handler', async () => {
    class Base {
      @Post()
      async ask(@FreqLimitCharge() { settle }: FreqLimitCharges) {
        await settle({ tokens: 40 });
      }
    }
    @Controller()
    @FreqLimit(tokens)
    class Sub extends Base {}
    const { url } = await start(Sub);
    expect(remaining(await fetch(url, { method: 'POST' }))).toEqual({ tokens: 960 });
  });

  it('settles after the response has begun: files, events, and responses of the handler itself', async () => {
    @Controller()
    class Streams {
      @Get('file')
      @FreqLimit(tokens)
      file(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        const bytes = Readable.from([Buffer.from('12345'), Buffer.from('678')]);
        let length = 0;
        bytes.on('data', (chunk: Buffer) => (length += chunk.length));
        bytes.on('end', () => void charge.settle(length));
        return new StreamableFile(bytes);
      }
      @Sse('events')
      @FreqLimit(tokens)
      events(@FreqLimitCharge('tokens') { settle }: FreqLimitCharge) {
        return from([{ data: 'a' }, { data: 'b' }]).pipe(finalize(() => void settle(2)));
      }
      @Get('own')
      @FreqLimit(tokens)
      async own(@FreqLimitCharge('tokens') charge: FreqLimitCharge, @Res() response: object) {
        const { body } = beginStream(response);
        body.write('one ');
        await sleep(20);
        body.end('two');
        await charge.settle(7);
      }
    }
    const { app, url } = await start(Streams);
    for (const [path, used] of [
      ['file', 8],
      ['events', 2],
      ['own', 7],
    ] as const) {
      const response = await fetch(`${url}/${path}`);
      expect([path, response.status, remaining(response)]).toEqual([path, 200, { tokens: 900 }]);
      await response.text();
      await until(async () => (await usedOf(app, Streams, path, 'tokens')) === used);
    }
    expect(log.lines).toEqual([]);
  });
});
