import {
  type CallHandler,
  type CanActivate,
  Controller,
  ForbiddenException,
  Get,
  Head,
  HttpCode,
  Logger,
  type MessageEvent,
  type NestInterceptor,
  ParseIntPipe,
  Query,
  Redirect,
  RequestTimeoutException,
  Res,
  Scope,
  Sse,
  StreamableFile,
  type Type,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { catchError, from, map, NEVER, type Observable, of, throwError, timeout } from 'rxjs';
import { LoginController } from '../../examples/http/login.controller.js';
import {
  type CountWhen,
  FreqLimit,
  FreqLimitModule,
  type FreqLimitOptions,
  type FreqLimitRule,
  FreqLimitService,
  type Outcome,
} from '../../src/index.js';
import { FREQ_LIMIT_STORE } from '../../src/core/tokens.js';
import type { Store } from '../../src/core/store.js';
import { closeApps, PLATFORMS, startApp, statuses, type TestApp } from '../support/app.js';
import { startCluster, until } from '../support/cluster.js';
import { limitHeaders, post, remaining } from '../support/http.js';
import { startProxy } from '../support/proxy.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf, plainClient, redisUrl } from '../support/redis.js';
import { startServer } from '../support/server.js';

const suite = redisSuite();
const STORES = ['memory', 'redis'] as const;
type Kind = (typeof STORES)[number];
const SUBJECTS = PLATFORMS.flatMap((platform) => STORES.map((kind) => [platform, kind] as const));

let lines: string[];
beforeEach(() => {
  lines = [];
  const note = (message: unknown): void => void lines.push(String(message));
  jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
});

/** Options for a store; the time limit is the tests', for machines that are busy. */
function options(kind: Kind, more: FreqLimitOptions = {}): FreqLimitOptions {
  const where = kind === 'redis' ? { redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 } : {};
  return { ...where, ...more };
}

interface Reply {
  status(code: number): { send(text: string): void };
}

const REFUSES: CanActivate = { canActivate: () => false };
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
const REFUSES_RESULT: NestInterceptor = {
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

/** Visits that end in all ways; each handler has counters of its own. */
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
  @Get('thrownBesideRes')
  thrownBesideRes(@Res() { status }: Reply) {
    throw new UnauthorizedException(typeof status);
  }
  @Get('guarded')
  @UseGuards(REFUSES)
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
  @Get('refusedResult')
  @UseInterceptors(REFUSES_RESULT)
  refusedResult() {
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

/** What has been charged for a handler, once all that is to be given back is. */
async function charged({ app }: TestApp, handler: string, controller: Type = Endings) {
  const service = app.get(FreqLimitService);
  const ask = async (): Promise<Record<string, number>> => {
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
    const { failures = 0, successes = 0 } = await ask();
    return failures + successes < 2;
  }, 3_000);
  return ask();
}

const failed = { all: 1, failures: 1, successes: 0 };
const succeeded = { all: 1, failures: 0, successes: 1 };

describe.each(PLATFORMS)('the end of a visit on %s', (platform) => {
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
    ['thrownBesideRes', 401, failed],
    ['guarded', 403, failed],
    ['guardThrows', 401, failed],
    ['piped', 400, failed],
    ['refusedResult', 403, failed],
    ['timedOut', 408, failed],
    ['filtered', 200, failed],
  ])('is known of %s', async (handler, status, counts) => {
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

describe.each(SUBJECTS)('countWhen on %s, %s', (platform, kind) => {
  const start = (controllers: Type[], more: FreqLimitOptions = {}): Promise<TestApp> =>
    startApp(platform, { controllers, limits: options(kind, more) });

  it('tells in the headers of the answer the count after what was given back', async () => {
    const { url } = await start([Endings]);
    const first = await fetch(`${url}/ok`);
    expect(limitHeaders(first)).toEqual({
      'ratelimit-policy': '"all";q=9;w=60, "failures";q=9;w=60, "successes";q=9;w=60',
      ratelimit: '"all";a=8;w=60, "failures";a=9, "successes";a=8;w=60',
    });
    expect(remaining(await fetch(`${url}/ok`))).toEqual({ all: 7, failures: 9, successes: 7 });
    expect(remaining(await fetch(`${url}/thrown`))).toEqual({ all: 8, failures: 8, successes: 9 });
  });

  it('gives back what several rules of a visit do not count in one call of the store', async () => {
    @Controller()
    class Several {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'minute', countWhen: 'failure' })
      @FreqLimit({ window: '1h', limit: 9, name: 'hour', countWhen: 'failure' })
      @FreqLimit({ window: '1d', limit: 50, name: 'day' })
      get() {
        return 'ok';
      }
    }
    const { app, url } = await start([Several]);
    const refund = jest.spyOn(app.get<Store>(FREQ_LIMIT_STORE), 'refund');
    expect(remaining(await fetch(url))).toEqual({ minute: 3, hour: 9, day: 49 });
    expect(await statuses(5, () => fetch(url))).toEqual([200, 200, 200, 200, 200]);
    expect(refund.mock.calls.map(([checks]) => checks.map(({ name }) => name))).toEqual(
      Array.from({ length: 6 }, () => ['minute', 'hour']),
    );
  });

  it('never lets more than the limit be under way at once', async () => {
    let [running, most] = [0, 0];
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    @Controller()
    class Slow {
      @Get()
      @FreqLimit({ window: '1m', limit: 3, name: 'slow', countWhen: 'failure' })
      async get() {
        most = Math.max(most, ++running);
        await released;
        running--;
        return 'ok';
      }
    }
    const { url } = await start([Slow]);
    const codes: number[] = [];
    const visits = Array.from({ length: 20 }, async () => codes.push((await fetch(url)).status));
    await until(() => codes.length === 17);
    release();
    await Promise.all(visits);
    expect(codes).toEqual([...Array<number>(17).fill(429), 200, 200, 200]);
    expect([most, running]).toEqual([3, 0]);
    // all of it is given back, also where the deny cache has just seen the counter full
    expect(await statuses(4, () => fetch(url))).toEqual([200, 200, 200, 200]);
    expect(lines).toEqual([]);
  });

  it('touches no window but the one that was charged', async () => {
    const rule = { window: '600ms', limit: 3, key: 'all', scope: 'controller', name: 'short' } as const;
    let begun = 0;
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    @Controller()
    class Short {
      @Get('slow')
      @FreqLimit({ ...rule, countWhen: 'failure' })
      async slow() {
        begun++;
        await released;
        return 'ok';
      }
      @Get('thrown')
      @FreqLimit({ ...rule, countWhen: 'failure' })
      thrown() {
        throw new UnauthorizedException();
      }
    }
    const { url } = await start([Short]);
    const visits = Array.from({ length: 5 }, () => statuses(1, () => fetch(`${url}/slow`)));
    await until(() => begun === 3);
    await sleep(610);
    // a later window is full when what the first one let in is given back
    expect(await statuses(3, () => fetch(`${url}/thrown`))).toEqual([401, 401, 401]);
    release();
    expect((await Promise.all(visits)).flat().sort()).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(1, () => fetch(`${url}/thrown`))).toEqual([429]);
    for (const key of await keysOf(suite.client, suite.namespace)) {
      expect([await suite.client.get(key), (await suite.client.pttl(key)) > 0]).toEqual(['3', true]);
    }
    await sleep(610);
    expect(await statuses(4, () => fetch(`${url}/thrown`))).toEqual([401, 401, 401, 429]);
    expect(lines).toEqual([]);
  });

  it('counts what a client that hung up has begun, however it ends', async () => {
    let ended = 0;
    @Controller()
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'all' })
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'failures', countWhen: 'failure' })
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'successes', countWhen: 'success' })
    class HangUps {
      @Get('ok')
      async ok() {
        await this.work();
        return 'ok';
      }
      @Get('thrown')
      async thrown() {
        await this.work();
        throw new UnauthorizedException();
      }
      @Get('own')
      async own(@Res() response: Reply) {
        await this.work();
        response.status(200).send('ok');
      }
      private async work() {
        await sleep(120);
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
      await sleep(50);
      socket.destroy();
      await once(socket, 'close');
      await until(() => ended > before);
      await sleep(30);
      const checks = ['all', 'failures', 'successes'].map((rule) => ({
        ...{ controller: HangUps, handler, rule, key: '127.0.0.1' },
      }));
      expect((await service.peek(checks)).results.map(({ used }) => used)).toEqual([1, 1, 1]);
    }
  });

  it('asks a function, and gives back for exactly false alone', async () => {
    const outcomes: Outcome[] = [];
    const rule = (name: string, countWhen: CountWhen) =>
      ({ window: '1m', limit: 9, name, countWhen }) as const;
    const nonsense = (value: unknown) => (() => value) as CountWhen;
    @Controller()
    class Functions {
      @Get()
      @FreqLimit(
        rule('sees', (outcome) => {
          outcomes.push(outcome);
          return true;
        }),
      )
      @FreqLimit(rule('no', () => false))
      @FreqLimit(rule('later-no', async () => sleep(5, false)))
      @FreqLimit(rule('later-yes', async () => sleep(5, true)))
      @FreqLimit(
        rule('throws', () => {
          throw new Error('of mine');
        }),
      )
      @FreqLimit(rule('rejects', () => Promise.reject(new Error('of mine too'))))
      @FreqLimit(rule('undefined', nonsense(undefined)))
      @FreqLimit(rule('zero', nonsense(0)))
      @FreqLimit(rule('text', nonsense('false')))
      get() {
        throw new ForbiddenException('no');
      }
    }
    const { url } = await start([Functions]);
    const response = await fetch(url);
    expect(response.status).toBe(403);
    const counted = { sees: 8, 'later-yes': 8, throws: 8, rejects: 8, undefined: 8, zero: 8, text: 8 };
    expect(remaining(response)).toEqual({ ...counted, no: 9, 'later-no': 9 });
    expect(outcomes).toEqual([
      {
        succeeded: false,
        statusCode: 403,
        error: expect.any(ForbiddenException),
        context: expect.anything(),
      },
    ]);
    expect(outcomes[0]!.context.getHandler().name).toBe('get');
    expect(lines).toEqual([
      '@FreqLimit on Functions.get, rule "throws": the countWhen function failed; the request counts: of mine',
      '@FreqLimit on Functions.get, rule "rejects": the countWhen function failed; the request counts: of mine too',
    ]);
  });

  it('tells a function the status that is answered, also where the error has its own', async () => {
    const seen: unknown[] = [];
    const note: CountWhen = ({ statusCode, succeeded }) => {
      seen.push([statusCode, succeeded]);
      return true;
    };
    const toGone = { statusCode: 410, status: 410, expose: true };
    const paths = ['created', 'gone', 'plain', 'guarded'] as const;
    @Controller()
    @FreqLimit({ window: '1m', limit: 99, name: 'notes', countWhen: note })
    class Statuses {
      @Get('created')
      @HttpCode(201)
      created() {
        return 'ok';
      }
      @Get('gone')
      gone() {
        throw Object.assign(new Error('gone'), toGone);
      }
      @Get('plain')
      plain() {
        throw new Error('plain');
      }
      @Get('guarded')
      @UseGuards(THROWS)
      guarded() {
        return 'ok';
      }
    }
    const { url } = await start([Statuses]);
    const codes = [];
    for (const path of paths) codes.push((await fetch(`${url}/${path}`)).status);
    expect(codes).toEqual([201, 410, 500, 401]);
    await until(() => seen.length === 4);
    expect(seen).toEqual([
      [201, true],
      [410, false],
      [500, false],
      [401, false],
    ]);
  });

  it('holds for rules of the module and of a class, in subclasses and in request-scoped controllers', async () => {
    class Base {
      @Get('inherited')
      inherited() {
        return 'ok';
      }
    }
    const classRule = { window: '1m', limit: 2, name: 'class', countWhen: 'failure' } as const;
    @Controller('first')
    @FreqLimit(classRule)
    class First extends Base {}
    @Controller({ path: 'second', scope: Scope.REQUEST })
    @FreqLimit(classRule)
    class Second extends Base {
      @Get('own')
      own() {
        throw new UnauthorizedException();
      }
    }
    const rules = [{ window: '1m', limit: 9, name: 'module', countWhen: 'success' }] as const;
    const { url } = await start([First, Second], { rules });
    expect(remaining(await fetch(`${url}/first/inherited`))).toEqual({ module: 8, class: 2 });
    expect(remaining(await fetch(`${url}/second/inherited`))).toEqual({ module: 7, class: 2 });
    expect(remaining(await fetch(`${url}/second/own`))).toEqual({ module: 7, class: 1 });
    expect(await statuses(2, () => fetch(`${url}/second/own`))).toEqual([401, 429]);
    expect(await statuses(3, () => fetch(`${url}/first/inherited`))).toEqual([200, 200, 200]);
  });

  it('keeps two applications of one process apart, on one controller', async () => {
    @Controller()
    class Shared {
      @Get()
      get() {
        return 'ok';
      }
    }
    const rule = { window: '1m', limit: 2, name: 'module' } as const;
    const namespace = (suffix: string) =>
      kind === 'redis' ? { namespace: `${suite.namespace}:${suffix}` } : {};
    const gives = await start([Shared], { ...namespace('a'), rules: [{ ...rule, countWhen: 'failure' }] });
    const keeps = await start([Shared], { ...namespace('b'), rules: [rule] });
    const both = await start([Shared], { ...namespace('c'), rules: [{ ...rule, countWhen: 'success' }] });
    expect(await statuses(4, () => fetch(gives.url))).toEqual([200, 200, 200, 200]);
    expect(await statuses(3, () => fetch(keeps.url))).toEqual([200, 200, 429]);
    expect(await statuses(3, () => fetch(both.url))).toEqual([200, 200, 429]);
  });

  it('answers a visit that outlives its window as it was let in', async () => {
    @Controller()
    class Long {
      @Get()
      @FreqLimit({ window: '200ms', limit: 3, name: 'kept' })
      @FreqLimit({ window: '200ms', limit: 3, name: 'given', countWhen: 'failure' })
      async get() {
        await sleep(400);
        return 'ok';
      }
    }
    const { url } = await start([Long]);
    const response = await fetch(url);
    expect([response.status, limitHeaders(response)['ratelimit']]).toEqual([
      200,
      '"kept";a=2;w=1, "given";a=3',
    ]);
    expect(lines).toEqual([]);
  });

  it('counts wrong passwords alone at the log-in of the example', async () => {
    const { url } = await start([LoginController]);
    const guess = (password: string) => () => post(`${url}/login`, { user: 'ann', password });
    expect(await statuses(4, guess('open sesame'))).toEqual([200, 200, 200, 200]);
    expect(await statuses(6, guess('guess'))).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await statuses(1, guess('open sesame'))).toEqual([429]);
    const other = await post(`${url}/login`, { user: 'bob', password: 'open sesame' });
    expect([other.status, remaining(other)]).toEqual([200, { wrong: 5, address: 90 }]);
  });

  it('charges a denied visit where countDenied says so, and gives it back nowhere', async () => {
    @Controller()
    class Denied {
      @Get()
      @FreqLimit({ window: '1m', limit: 1, name: 'one' })
      @FreqLimit({ window: '1m', limit: 9, name: 'all', countDenied: true, countWhen: 'failure' })
      get() {
        return 'ok';
      }
    }
    const { url } = await start([Denied]);
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push(remaining(await fetch(url)));
    expect(seen).toEqual([
      { one: 0, all: 9 },
      { one: 0, all: 8 },
      { one: 0, all: 7 },
    ]);
  });
});

describe.each(PLATFORMS)('countWhen in Redis on %s', (platform) => {
  const failing: FreqLimitRule = {
    window: '1m',
    limit: 3,
    key: 'all',
    name: 'failures',
    countWhen: 'failure',
  };

  it('gives back by one command, without an error where handlers take longer than timeoutMs', async () => {
    @Controller()
    class Slow {
      @Get()
      @FreqLimit(failing)
      @FreqLimit({ window: '1h', limit: 9, name: 'hour', countWhen: 'failure' })
      async get() {
        await sleep(400);
        return 'ok';
      }
    }
    const server = await startServer();
    const watched = plainClient(server.url);
    // ioredis takes a line of MONITOR that comes with its first answer for a fault, so nothing may be under way
    await watched.ping();
    const monitor = await watched.monitor();
    const commands: string[] = [];
    monitor.on('monitor', (_time: string, [command = '']: string[], source: string) => {
      if (source !== 'lua') commands.push(command.toLowerCase());
    });
    const limits = { redis: server.url, timeoutMs: 250 };
    const { url } = await startApp(platform, { controllers: [Slow], limits });
    for (let i = 0; i < 3; i++) expect(remaining(await fetch(url))).toEqual({ failures: 3, hour: 9 });
    // the first of each tells the server its script
    await until(() => commands.filter((command) => command.startsWith('eval')).length === 8);
    expect(commands.filter((command) => command.startsWith('eval'))).toEqual([
      ...['evalsha', 'eval', 'evalsha', 'eval'],
      ...['evalsha', 'evalsha', 'evalsha', 'evalsha'],
    ]);
    expect(lines).toEqual([]);
    monitor.disconnect();
    watched.disconnect();
    await closeApps();
    await server.stop();
  });

  it('grants nothing for a counter that somebody made negative', async () => {
    let succeeds = true;
    @Controller()
    class Negative {
      @Get()
      @FreqLimit(failing)
      get() {
        if (succeeds) return 'ok';
        throw new UnauthorizedException();
      }
    }
    const { url } = await startApp(platform, { controllers: [Negative], limits: options('redis') });
    succeeds = false;
    await fetch(url);
    const [key = ''] = await keysOf(suite.client, suite.namespace);
    succeeds = true;
    for (const value of [-5, 0, -1]) {
      await suite.client.set(key, value, 'PX', 30_000);
      expect(remaining(await fetch(url))).toEqual({ failures: 3 });
      expect(await suite.client.get(key)).toBeNull();
    }
    succeeds = false;
    await suite.client.set(key, -5, 'PX', 30_000);
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const response = await fetch(url);
      seen.push([response.status, remaining(response)['failures']]);
    }
    expect(seen).toEqual([
      [401, 2],
      [401, 1],
      [401, 0],
      [429, 0],
    ]);
  });

  it('keeps what was charged where Redis goes away before the end', async () => {
    @Controller()
    class Lost {
      @Get()
      @FreqLimit(failing)
      async get() {
        await gone;
        return 'ok';
      }
    }
    const server = await startServer();
    const proxy = await startProxy(server.port);
    const limits = { redis: proxy.url, timeoutMs: 250 };
    const { app, url } = await startApp(platform, { controllers: [Lost], limits });
    let lose!: () => void;
    const gone = new Promise<void>((resolve) => (lose = resolve));
    const client = plainClient(server.url);
    const visit = fetch(url);
    await until(async () => (await client.dbsize()) === 1);
    proxy.refuse(true);
    proxy.reset();
    await until(() => !app.get(FreqLimitService).health().isUp);
    lose();
    const response = await visit;
    expect([response.status, remaining(response)]).toEqual([200, { failures: 2 }]);
    expect(lines.filter((line) => line.includes('countWhen'))).toEqual([]);
    const [key = ''] = await client.keys('*');
    expect(await client.get(key)).toBe('1');
    // meanwhile this process counts by itself, and gives back there
    expect(await statuses(5, () => fetch(url))).toEqual([200, 200, 200, 200, 200]);
    client.disconnect();
    await closeApps();
    await proxy.stop();
    await server.stop();
  });
});

describe('countWhen in a Cluster', () => {
  it('gives back in every slot', async () => {
    @Controller()
    class Slots {
      @Get(':a/:b/:c')
      @FreqLimit({ window: '1m', limit: 3, key: '{params.a}', name: 'a', countWhen: 'failure' })
      @FreqLimit({ window: '1m', limit: 3, key: '{params.b}', name: 'b', countWhen: 'success' })
      @FreqLimit({ window: '1m', limit: 3, key: '{params.c}', name: 'c', countWhen: 'failure' })
      get() {
        return 'ok';
      }
    }
    const cluster = await startCluster();
    const limits = { redis: { cluster: cluster.nodes }, namespace: suite.namespace, timeoutMs: 5_000 };
    const { url } = await startApp('express', { controllers: [Slots], limits });
    // three values in three slots
    for (let i = 0; i < 5; i++) {
      expect(remaining(await fetch(`${url}/one/${i}/three`))).toEqual({ a: 3, b: 2, c: 3 });
    }
    const keys = await Promise.all(cluster.primaries.map((node) => cluster.client(node).keys('*')));
    expect(keys.flat()).toHaveLength(5);
    expect(keys.flat().every((key) => key.includes('.b'))).toBe(true);
    await closeApps();
    await cluster.stop();
  });
});

describe('countWhen over HTTP/2', () => {
  it('knows an answer from a stream that was cut', async () => {
    let ended = 0;
    @Controller()
    @FreqLimit({ window: '1m', limit: 9, scope: 'handler', name: 'failures', countWhen: 'failure' })
    class Streams {
      @Get('ok')
      ok() {
        return 'ok';
      }
      @Get('guarded')
      @UseGuards(REFUSES)
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
    const ask = async (path: string): Promise<unknown> => {
      const stream = session.request({ ':path': path });
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      stream.resume();
      await once(stream, 'close');
      return headers[':status'];
    };
    expect([await ask('/ok'), await ask('/guarded'), await ask('/slow')]).toEqual([200, 403, 200]);
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
