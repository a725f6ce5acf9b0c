import { Controller, Get, Req, Res, Sse } from '@nestjs/common';
import { type EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { finalize, interval, map } from 'rxjs';
import { FreqLimit, FreqLimitCharge } from 'nestjs-freq-limit';
import { startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { beginStream } from '../support/streamed.js';
import { usedOf } from '../support/used.js';

const suite = redisSuite();
const log = captureLog();

const tokens = { name: 'tokens', window: '1d', limit: 1_000, key: 'all', cost: 100 } as const;
const counted = { name: 'failures', window: '1d', limit: 1_000, key: 'all', countWhen: 'failure' } as const;

/** A connection, and the requests of both platforms, which have one. */
interface Raw extends EventEmitter {
  readonly socket: Raw;
}

const socketOf = ({ socket }: Raw): Raw => socket;

/** Reads the beginning of a response, and disconnects. */
async function leave(url: string, beginning: string): Promise<void> {
  const request = get(url, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  // a stream of events begins with an empty line
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    if (text.includes(beginning)) break;
  }
  request.destroy();
}

describe.each(EVERYWHERE)('a client that disconnects on %s in %s', (platform, kind) => {
  it('is charged what its handler has settled, before or after', async () => {
    const gone: string[] = [];
    @Controller()
    class Chat {
      /** The outcome is awaited until the response is closed. */
      @Get('before')
      @FreqLimit(tokens)
      @FreqLimit(counted)
      async before(@FreqLimitCharge('tokens') charge: FreqLimitCharge, @Res() response: object) {
        const { body, raw } = beginStream(response);
        await charge.settle(40);
        body.write('one');
        await once(raw, 'close');
        body.end();
        gone.push('before');
      }
      @Get('after')
      @FreqLimit(tokens)
      @FreqLimit(counted)
      async after(@FreqLimitCharge('tokens') charge: FreqLimitCharge, @Res() response: object) {
        const { body, raw } = beginStream(response);
        body.write('one');
        await once(raw, 'close');
        body.end();
        await sleep(20);
        await charge.settle(40);
        gone.push('after');
      }
      @Get('never')
      @FreqLimit({ ...tokens, actualCost: () => 40 })
      @FreqLimit(counted)
      async never(@Res() response: object) {
        const { body, raw } = beginStream(response);
        body.write('one');
        await once(raw, 'close');
        body.end();
        gone.push('never');
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Chat], limits: limitsIn(kind, suite) });
    for (const path of ['before', 'after', 'never']) {
      await leave(`${url}/${path}`, 'one');
      await until(() => gone.includes(path));
    }
    await until(async () => (await usedOf(app, Chat, 'before', 'tokens')) === 40);
    await until(async () => (await usedOf(app, Chat, 'after', 'tokens')) === 40);
    await sleep(50);
    // the estimate, and what counts only if the request fails
    expect(await usedOf(app, Chat, 'never', 'tokens')).toBe(100);
    expect(await usedOf(app, Chat, 'before', 'failures')).toBe(1);
    expect(log.lines).toEqual([]);
  });

  it('is charged the debt of its handler, which ends later', async () => {
    const ended: string[] = [];
    const arrived: string[] = [];
    const work = async (name: string, raw: Raw) => {
      arrived.push(name);
      await once(raw, 'close');
      ended.push(name);
      return name;
    };
    @Controller()
    class Chat {
      @Get('more')
      @FreqLimit({ ...tokens, actualCost: () => 400 })
      more(@Req() request: Raw) {
        return work('more', socketOf(request));
      }
      @Get('less')
      @FreqLimit({ ...tokens, actualCost: () => 40 })
      less(@Req() request: Raw) {
        return work('less', socketOf(request));
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Chat], limits: limitsIn(kind, suite) });
    for (const path of ['more', 'less']) {
      const request = get(`${url}/${path}`, { agent: false }).on('error', () => undefined);
      await until(() => arrived.includes(path));
      request.destroy();
      await until(() => ended.includes(path));
    }
    await until(async () => (await usedOf(app, Chat, 'more', 'tokens')) === 400);
    await sleep(50);
    expect(await usedOf(app, Chat, 'less', 'tokens')).toBe(100);
    expect(log.lines).toEqual([]);
  });

  it('ends a stream of events, which settles what it has sent', async () => {
    @Controller()
    class Chat {
      @Sse('plain')
      @FreqLimit(tokens)
      plain(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        let sent = 0;
        return interval(5).pipe(
          map(() => ({ data: String(++sent) })),
          finalize(() => void charge.settle(40)),
        );
      }
      @Sse('counted')
      @FreqLimit(tokens)
      @FreqLimit(counted)
      counted(@FreqLimitCharge('tokens') charge: FreqLimitCharge) {
        return interval(5).pipe(
          map((data) => ({ data: String(data) })),
          finalize(() => void charge.settle(40)),
        );
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Chat], limits: limitsIn(kind, suite) });
    for (const path of ['plain', 'counted']) {
      await leave(`${url}/${path}`, 'data');
      await until(async () => (await usedOf(app, Chat, path, 'tokens')) === 40);
    }
    // a stream counts as a success with its first event
    await until(async () => (await usedOf(app, Chat, 'counted', 'failures')) === 0);
    expect(log.lines).toEqual([]);
  });
});
