import {
  type CallHandler,
  type CanActivate,
  Controller,
  ForbiddenException,
  Get,
  Head,
  HttpCode,
  type MessageEvent,
  type NestInterceptor,
  ParseIntPipe,
  Query,
  Redirect,
  Req,
  RequestTimeoutException,
  Res,
  Sse,
  StreamableFile,
  type Type,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { catchError, from, map, NEVER, type Observable, of, throwError, timeout } from 'rxjs';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { PLATFORMS, startApp, type TestApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { limitHeaders, remaining } from '../support/http.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';

const suite = redisSuite();

interface Incoming {
  readonly socket: { readonly destroyed: boolean };
}

interface Reply {
  status(code: number): { send(text: string): void };
}

const DENIES: CanActivate = { canActivate: () => false };
const THROWS: CanActivate = {
  canActivate: () => {
    throw new UnauthorizedException();
  },
};
const CACHED: NestInterceptor = { intercept: () => of('cached') };
const CACHED_ELSEWHERE: NestInterceptor = {
  intercept: (context, next) =>
    context.getHandler().name === 'cachedOutside' ? of('cached') : next.handle(),
};
const RECOVERS: NestInterceptor = {
  intercept: (_, next: CallHandler<unknown>) => next.handle().pipe(catchError(() => of('all is well'))),
};
const DENIES_RESULT: NestInterceptor = {
  intercept: (_, next: CallHandler<unknown>) =>
    next.handle().pipe(
      map(() => {
        throw new ForbiddenException();
      }),
    ),
};
const TIMES_OUT: NestInterceptor = {
  intercept: (context, next: CallHandler<unknown>) =>
    context.getHandler().name === 'timedOut'
      ? next.handle().pipe(
          timeout(50),
          catchError(() => throwError(() => new RequestTimeoutException())),
        )
      : next.handle(),
};

/** Requests that end in all ways; each handler has its own counters. */
@Controller()
@FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'all' })
@FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'failures', countWhen: 'failure' })
@FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'successes', countWhen: 'success' })
class Endings {
  @Get('ok')
  ok() {
    return 'ok';
  }
  @Get('nothing')
  @HttpCode(204)
  nothing() {}
  @Get('elsewhere')
  @Redirect('/ok', 302)
  elsewhere() {}
  @Get('observed')
  observed() {
    return from(['one', 'two']);
  }
  @Head('head')
  head() {}
  @Get('thrown')
  thrown() {
    throw new UnauthorizedException();
  }
  @Get('rejected')
  async rejected() {
    await sleep(1);
    throw new UnauthorizedException();
  }
  @Get('broken')
  broken() {
    throw new Error('broken');
  }
  @Get('odd')
  odd() {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- applications do
    throw undefined;
  }
  @Get('ownStatus')
  ownStatus(@Res({ passthrough: true }) response: Reply) {
    response.status(401);
    return 'no';
  }
  @Get('ownAnswer')
  ownAnswer(@Res() response: Reply) {
    response.status(200).send('yes');
  }
  @Get('ownRefusal')
  ownRefusal(@Res() response: Reply) {
    response.status(401).send('no');
  }
  @Get('lateAnswer')
  lateAnswer(@Res() response: Reply) {
    setTimeout(() => {
      response.status(200).send('yes');
    }, 20);
  }
  @Get('lateRefusal')
  lateRefusal(@Res() response: Reply) {
    setTimeout(() => {
      response.status(401).send('no');
    }, 20);
  }
  @Get('thrownWithRes')
  thrownWithRes(@Res() { status }: Reply) {
    throw new UnauthorizedException(typeof status);
  }
  @Get('guarded')
  @UseGuards(DENIES)
  guarded() {
    return 'ok';
  }
  @Get('guardThrows')
  @UseGuards(THROWS)
  guardThrows() {
    return 'ok';
  }
  @Get('piped')
  piped(@Query('n', ParseIntPipe) n: number) {
    return String(n);
  }
  @Get('cached')
  @UseInterceptors(CACHED)
  cached() {
    throw new Error('is not reached');
  }
  @Get('cachedOutside')
  cachedOutside() {
    throw new Error('is not reached');
  }
  @Get('recovered')
  @UseInterceptors(RECOVERS)
  recovered() {
    throw new Error('recovered');
  }
  @Get('deniedResult')
  @UseInterceptors(DENIES_RESULT)
  deniedResult() {
    return 'ok';
  }
  @Get('timedOut')
  timedOut() {
    return NEVER;
  }
  @Get('filtered')
  @UseFilters({
    catch: (_error: unknown, host: { getArgByIndex(i: number): Reply }) => {
      host.getArgByIndex(1).status(200).send('never mind');
    },
  })
  filtered() {
    throw new Error('filtered');
  }
  @Get('file')
  file() {
    return new StreamableFile(Readable.from(['a', 'b']));
  }
  @Sse('events')
  events(): Observable<MessageEvent> {
    return from([{ data: 'one' }, { data: 'two' }]);
  }
}

type Handler = keyof Endings;

/** The counters of a handler after all refunds. */
async function charged({ app }: TestApp, handler: string, controller: Type = Endings) {
  const service = app.get(FreqLimitService);
  const send = async (): Promise<Record<string, number>> => {
    const checks = ['all', 'failures', 'successes'].map((rule) => ({
      controller,
      handler,
      rule,
      key: '127.0.0.1',
    }));
    const { results } = await service.peek(checks);
    return Object.fromEntries(results.map(({ name, used }) => [name, used]));
  };
  await until(async () => {
    const { failures = 0, successes = 0 } = await send();
    return failures + successes < 2;
  }, 3_000);
  return send();
}

const failed = { all: 1, failures: 1, successes: 0 };
const succeeded = { all: 1, failures: 0, successes: 1 };

describe.each(PLATFORMS)('the outcome of a request on %s', (platform) => {
  it.each<[Handler, number, typeof failed]>([
    ['ok', 200, succeeded],
    ['nothing', 204, succeeded],
    ['elsewhere', 302, succeeded],
    ['observed', 200, succeeded],
    ['head', 200, succeeded],
    ['ownAnswer', 200, succeeded],
    ['lateAnswer', 200, succeeded],
    ['cached', 200, succeeded],
    ['cachedOutside', 200, succeeded],
    ['recovered', 200, succeeded],
    ['file', 200, succeeded],
    ['events', 200, succeeded],
    ['thrown', 401, failed],
    ['rejected', 401, failed],
    ['broken', 500, failed],
    ['odd', 500, failed],
    ['ownStatus', 401, failed],
    ['ownRefusal', 401, failed],
    ['lateRefusal', 401, failed],
    ['thrownWithRes', 401, failed],
    ['guarded', 403, failed],
    ['guardThrows', 401, failed],
    ['piped', 400, failed],
    ['deniedResult', 403, failed],
    ['timedOut', 408, failed],
    ['filtered', 200, failed],
  ])('is known for the handler %s', async (handler, status, counts) => {
    const app = await startApp(platform, {
      controllers: [Endings],
      providers: [
        { provide: APP_INTERCEPTOR, useValue: CACHED_ELSEWHERE },
        { provide: APP_INTERCEPTOR, useValue: TIMES_OUT },
      ],
    });
    const method = handler === 'head' ? 'HEAD' : 'GET';
    const response = await fetch(`${app.url}/${handler}`, { method, redirect: 'manual' });
    await response.arrayBuffer().catch(() => undefined);
    expect(response.status).toBe(status);
    expect(await charged(app, handler)).toEqual(counts);
  });
});

describe.each(EVERYWHERE)('countWhen on %s, %s', (platform, kind) => {
  const start = (controllers: Type[], more: FreqLimitOptions = {}): Promise<TestApp> =>
    startApp(platform, { controllers, limits: { ...limitsIn(kind, suite), ...more } });

  it('sends headers with the count after the refund', async () => {
    const { url } = await start([Endings]);
    const first = await fetch(`${url}/ok`);
    expect(limitHeaders(first)).toEqual({
      'ratelimit-policy': '"all";q=9;w=60, "failures";q=9;w=60, "successes";q=9;w=60',
      ratelimit: '"all";a=8;w=60, "failures";a=9, "successes";a=8;w=60',
    });
    expect(remaining(await fetch(`${url}/ok`))).toEqual({ all: 7, failures: 9, successes: 7 });
    expect(remaining(await fetch(`${url}/thrown`))).toEqual({ all: 8, failures: 8, successes: 9 });
  });

  it('counts the request of a client that disconnected, whatever its outcome', async () => {
    let started = 0;
    let ended = 0;
    @Controller()
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'all' })
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'failures', countWhen: 'failure' })
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'successes', countWhen: 'success' })
    class HangUps {
      @Get('ok')
      async ok(@Req() request: Incoming) {
        await this.untilGone(request);
        return 'ok';
      }
      @Get('thrown')
      async thrown(@Req() request: Incoming) {
        await this.untilGone(request);
        throw new UnauthorizedException();
      }
      @Get('own')
      async own(@Req() request: Incoming, @Res() response: Reply) {
        await this.untilGone(request);
        response.status(200).send('ok');
      }
      private async untilGone({ socket }: Incoming) {
        started++;
        await until(() => socket.destroyed);
        ended++;
      }
    }
    const app = await start([HangUps]);
    const service = app.app.get(FreqLimitService);
    const { hostname, port } = new URL(app.url);
    for (const handler of ['ok', 'thrown', 'own']) {
      const before = ended;
      const socket = connect(Number(port), hostname);
      socket.write(`GET /${handler} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await until(() => started > before);
      socket.destroy();
      await until(() => ended > before);
      await sleep(30);
      const checks = ['all', 'failures', 'successes'].map((rule) => ({
        ...{ controller: HangUps, handler, rule, key: '127.0.0.1' },
      }));
      expect((await service.peek(checks)).results.map(({ used }) => used)).toEqual([1, 1, 1]);
    }
  });
});

describe('countWhen over HTTP/2', () => {
  it('tells a complete response from a reset stream', async () => {
    let ended = 0;
    @Controller()
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'failures', countWhen: 'failure' })
    class Streams {
      @Get('ok')
      ok() {
        return 'ok';
      }
      @Get('guarded')
      @UseGuards(DENIES)
      guarded() {
        return 'ok';
      }
      @Get('slow')
      async slow(@Res() response: Reply) {
        await sleep(100);
        ended++;
        response.status(200).send('ok');
      }
    }
    const imports = [FreqLimitModule.forRoot()];
    const module = await Test.createTestingModule({ imports, controllers: [Streams] }).compile();
    const app = module.createNestApplication(new FastifyAdapter({ http2: true }), { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    const session = connectHttp2(url);
    const send = async (path: string): Promise<unknown> => {
      const stream = session.request({ ':path': path });
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      stream.resume();
      await once(stream, 'close');
      return headers[':status'];
    };
    expect([await send('/ok'), await send('/guarded'), await send('/slow')]).toEqual([200, 403, 200]);
    const cut = session.request({ ':path': '/slow' });
    await sleep(40);
    cut.close(constants.NGHTTP2_CANCEL);
    await until(() => ended === 2);
    await sleep(30);
    const service = app.get(FreqLimitService);
    const used = async (handler: string): Promise<number> => {
      const check = { controller: Streams, handler, rule: 'failures', key: '127.0.0.1' };
      return (await service.peek(check)).results[0]!.used;
    };
    expect([await used('ok'), await used('guarded'), await used('slow')]).toEqual([0, 1, 1]);
    session.close();
    await app.close();
  });
});
