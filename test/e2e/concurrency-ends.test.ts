import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  type MessageEvent,
  type NestInterceptor,
  Res,
  Sse,
  StreamableFile,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { interval, map, type Observable, of } from 'rxjs';
import { FreqLimit, FreqLimitModule } from 'nestjs-freq-limit';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { EVERYWHERE, limitsIn } from '../support/kinds.js';
import { redisSuite } from '../support/redis-suite.js';
import { slotsOf, slotsTaken, untilTaken, Work } from '../support/slots.js';

const work = new Work();

afterEach(() => {
  work.finish();
});

const suite = redisSuite();

interface Reply {
  status(code: number): { send(text: string): void };
}

const DENIES: CanActivate = { canActivate: () => false };
const FAILS_LATE: CanActivate = {
  canActivate: async () => {
    await sleep(20);
    throw new ForbiddenException();
  },
};
const CACHED: NestInterceptor = { intercept: () => of('cached') };

/** Waits until the client has left. */
class UntilGone implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { socket } = context.switchToHttp().getRequest<{ socket: Socket }>();
    await work.run();
    await until(() => socket.destroyed);
    return true;
  }
}

let stream = new PassThrough();
const slots = FreqLimit({ name: 'slots', concurrency: 2, key: '{ip}' });

@Controller()
class Ends {
  @Get('ok')
  @slots
  ok() {
    return 'ok';
  }
  @Get('thrown')
  @slots
  thrown() {
    throw new Error('thrown');
  }
  @Get('denied')
  @slots
  @UseGuards(DENIES)
  denied() {
    return 'ok';
  }
  @Get('failing')
  @slots
  @UseGuards(FAILS_LATE)
  failing() {
    return 'ok';
  }
  @Get('cached')
  @slots
  @UseInterceptors(CACHED)
  cached() {
    return 'ok';
  }
  @Get('own')
  @slots
  own(@Res() reply: Reply) {
    setTimeout(() => {
      reply.status(200).send('ok');
    }, 20);
  }
  @Get('file')
  @slots
  file() {
    return new StreamableFile(Readable.from(['a', 'b']));
  }
  @Get('missing')
  @FreqLimit({ name: 'slots', concurrency: 2, key: '{ip}' })
  @FreqLimit({ name: 'other', window: '1m', limit: 5, key: '{query.x}', onMissingKey: 'deny' })
  missing() {
    return 'ok';
  }
  @Get('stream')
  @slots
  stream() {
    stream = new PassThrough();
    stream.write('a');
    return new StreamableFile(stream);
  }
  @Sse('events')
  @slots
  events(): Observable<MessageEvent> {
    return interval(10).pipe(map((n) => ({ data: String(n) })));
  }
  @Get('slow')
  @slots
  async slow() {
    await work.run();
    return 'ok';
  }
}

const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n';

describe.each(EVERYWHERE)('a slot on %s, %s', (platform, kind) => {
  const start = (controller: Type = Ends): Promise<TestApp> =>
    startApp(platform, { controllers: [controller], limits: limitsIn(kind, suite) });
  const open = ({ url }: TestApp): Socket => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    return socket;
  };

  it.each([
    ['ok', 200],
    ['thrown', 500],
    ['denied', 403],
    ['failing', 403],
    ['cached', 200],
    ['own', 200],
    ['file', 200],
    ['missing', 400],
  ])('is free after the response of the handler %s', async (handler, status) => {
    const { app, url } = await start();
    for (let i = 0; i < 4; i++) {
      const response = await fetch(`${url}/${handler}`);
      await response.arrayBuffer();
      expect(response.status).toBe(status);
      await untilTaken(app, slotsOf(Ends, handler), 0);
    }
  });

  it('is taken until a stream has ended', async () => {
    const { app, url } = await start();
    const response = await fetch(`${url}/stream`);
    await sleep(50);
    expect(await slotsTaken(app, slotsOf(Ends, 'stream'))).toBe(1);
    stream.end('b');
    expect(await response.text()).toBe('ab');
    await untilTaken(app, slotsOf(Ends, 'stream'), 0);
  });

  it('is taken until the client of server-sent events leaves', async () => {
    const { app, url } = await start();
    const abort = new AbortController();
    const response = await fetch(`${url}/events`, { signal: abort.signal });
    await response.body!.getReader().read();
    expect(await slotsTaken(app, slotsOf(Ends, 'events'))).toBe(1);
    abort.abort();
    await untilTaken(app, slotsOf(Ends, 'events'), 0);
  });

  it('is free when the client leaves while the handler runs', async () => {
    const server = await start();
    const socket = open(server);
    socket.write(SLOW);
    await work.untilRunning(1);
    expect(await slotsTaken(server.app, slotsOf(Ends, 'slow'))).toBe(1);
    socket.destroy();
    await untilTaken(server.app, slotsOf(Ends, 'slow'), 0);
    work.finish();
    await untilTaken(server.app, slotsOf(Ends, 'slow'), 0);
  });

  it('is free when the client leaves before it gets one, and before the handler', async () => {
    @Controller()
    class Late {
      @Get('before')
      @FreqLimit({
        name: 'slots',
        concurrency: async () => {
          await gone();
          return 2;
        },
        key: '{ip}',
      })
      before() {
        return 'ok';
      }
      @Get('after')
      @slots
      @UseGuards(UntilGone)
      after() {
        return 'ok';
      }
    }
    let socket: Socket;
    const gone = async (): Promise<void> => {
      socket.destroy();
      await sleep(50);
    };
    const server = await start(Late);
    for (let i = 0; i < 4; i++) {
      socket = open(server);
      socket.write(SLOW.replace('slow', 'before'));
      await sleep(100);
      expect(await slotsTaken(server.app, { ...slotsOf(Late, 'before'), concurrency: 2 } as never)).toBe(0);
      socket = open(server);
      socket.write(SLOW.replace('slow', 'after'));
      await work.untilRunning(1);
      socket.destroy();
      work.finish();
      await untilTaken(server.app, slotsOf(Late, 'after'), 0);
    }
  });

  it('is free after each of many requests on one connection', async () => {
    const server = await start();
    const socket = open(server);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    for (let i = 1; i <= 20; i++) {
      socket.write(SLOW.replace('slow', 'ok'));
      await until(() => received.split('HTTP/1.1 200').length === i + 1);
      await untilTaken(server.app, slotsOf(Ends, 'ok'), 0);
    }
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('of pipelined requests is free when their client leaves', async () => {
    const server = await start();
    const socket = open(server);
    socket.write(SLOW + SLOW);
    await untilTaken(server.app, slotsOf(Ends, 'slow'), 2);
    socket.destroy();
    await untilTaken(server.app, slotsOf(Ends, 'slow'), 0);
    // the handler of the first request still runs
    expect(work.running).toBeGreaterThan(0);
  });
});

describe('a slot over HTTP/2', () => {
  it('is free when the response is complete, the stream is reset, or the connection is lost', async () => {
    const module = await Test.createTestingModule({
      imports: [FreqLimitModule.forRoot()],
      controllers: [Ends],
    }).compile();
    const app = module.createNestApplication(new FastifyAdapter({ http2: true }), { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
    const session = connectHttp2(url);
    session.on('error', () => undefined);
    try {
      const complete = session.request({ ':path': '/ok' }).resume();
      await once(complete, 'close');
      await untilTaken(app, slotsOf(Ends, 'ok'), 0);
      const reset = session.request({ ':path': '/slow' });
      const lost = session.request({ ':path': '/slow' });
      for (const one of [reset, lost]) one.on('error', () => undefined);
      await work.untilRunning(2);
      expect(await slotsTaken(app, slotsOf(Ends, 'slow'))).toBe(2);
      reset.close(constants.NGHTTP2_CANCEL);
      await untilTaken(app, slotsOf(Ends, 'slow'), 1);
      session.destroy();
      await untilTaken(app, slotsOf(Ends, 'slow'), 0);
    } finally {
      session.destroy();
      work.finish();
      await app.close();
    }
  });
});
