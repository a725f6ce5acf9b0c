import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  Logger,
  Post,
  Req,
  UseFilters,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { jest } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FreqLimit, type FreqLimitHook, FreqLimitService, isFreqLimitExceeded } from '../../src/index.js';
import { closeApps, PLATFORMS, startApp, statuses } from '../support/app.js';
import { post } from '../support/http.js';
import { redisSuite } from '../support/redis-suite.js';
import { limitsIn } from '../support/kinds.js';

// What callers and listeners have tried to get past a limit.

const suite = redisSuite();
let lines: string[];

beforeEach(() => {
  lines = [];
  for (const level of ['warn', 'error'] as const)
    jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => void lines.push(String(line)));
});
afterEach(closeApps);

@Controller()
class Once {
  @Get()
  @FreqLimit({ name: 'once', window: '1m', limit: 1 })
  get() {
    return 'ok';
  }
}

describe.each(PLATFORMS)('on %s', (platform) => {
  it('who hangs up behind a request that is not answered yet is counted all the same', async () => {
    let arrived: (socket: Socket) => void;
    @Controller()
    class Dear {
      @Get('slow')
      slow() {
        return new Promise(() => undefined);
      }
      @Get('dear')
      @FreqLimit({ name: 'dear', window: '1m', limit: 9, countWhen: 'success' })
      async dear(@Req() request: { socket?: Socket; raw?: { socket: Socket } }) {
        const socket = request.raw?.socket ?? request.socket!;
        arrived(socket);
        await new Promise((resolve) => socket.once('close', resolve));
        throw new Error('the client is gone');
      }
    }
    const { app, url } = await startApp(platform, { controllers: [Dear] });
    for (const first of ['', 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const here = new Promise<Socket>((resolve) => (arrived = resolve));
      const client = connect(Number(new URL(url).port), '127.0.0.1');
      client.write(`${first}GET /dear HTTP/1.1\r\nHost: x\r\n\r\n`);
      const server = await here;
      const closed = new Promise((resolve) => server.once('close', resolve));
      client.destroy();
      await closed;
      // the handler fails, and whoever would give something back has done so
      await sleep(50);
    }
    const counter = { controller: Dear, handler: 'dear', rule: 'dear', key: '127.0.0.1' };
    expect((await app.get(FreqLimitService).peek(counter)).results).toMatchObject([{ used: 2 }]);
  });

  it('a proxy that nobody trusts does not lend its clients its place in the allow list', async () => {
    const limits = { skipAddresses: ['127.0.0.0/8', '::1'] };
    const { url } = await startApp(platform, { controllers: [Once], limits });
    expect(await statuses(2, () => fetch(url))).toEqual([200, 200]);
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    expect(await statuses(2, () => fetch(url, { headers }))).toEqual([200, 429]);
  });

  it('a listener cannot make a pass of a denial', async () => {
    const onDenied: FreqLimitHook = ({ verdict }) => {
      (verdict as { allowed: boolean }).allowed = true;
    };
    const { url } = await startApp(platform, { controllers: [Once], limits: { onDenied } });
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429]);
    expect(lines.join('\n')).toContain('A hook failed');
  });

  it('an exception that all denials share tells each caller of his own', async () => {
    const one = new HttpException('slow down', 429);
    const seen: unknown[] = [];
    @Catch(HttpException)
    class Notes implements ExceptionFilter {
      catch(error: HttpException, host: ArgumentsHost) {
        const { body } = host.switchToHttp().getRequest<{ body: { who: number } }>();
        seen.push([body.who, isFreqLimitExceeded(error) && error.verdict.tightest?.limit]);
        adapter().httpAdapter.reply(host.switchToHttp().getResponse(), 'slow down', error.getStatus());
      }
    }
    @Controller()
    @UseFilters(Notes)
    class Each {
      @Post()
      @FreqLimit({
        name: 'each',
        window: '1m',
        cost: 100,
        key: '{body.who}',
        limit: (context: ExecutionContext) =>
          context.switchToHttp().getRequest<{ body: { who: number } }>().body.who,
      })
      post() {
        return 'ok';
      }
    }
    const limits = { ...limitsIn('redis', suite), exceptionFactory: () => one };
    const { app, url } = await startApp(platform, { controllers: [Each], limits });
    const adapter = (): HttpAdapterHost => app.get(HttpAdapterHost);
    const callers = [1, 2, 3, 4, 5, 6, 7, 8];
    const answers = await Promise.all(callers.map((who) => post(url, { who })));
    expect(answers.map(({ status }) => status)).toEqual(callers.map(() => 429));
    expect(seen.sort()).toEqual(callers.map((who) => [who, who]));
  });
});
