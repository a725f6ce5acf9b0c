import {
  type CanActivate,
  Catch,
  Controller,
  type DynamicModule,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  type INestApplication,
  Injectable,
  Module,
  Post,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Query, Resolver } from '@nestjs/graphql';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { FreqLimit, FreqLimitModule, type FreqLimitOptions, FreqLimitService } from 'nestjs-freq-limit';
import { closeApps, PLATFORMS, serve, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { DRIVERS, startGraphql } from '../support/graphql.js';

// Node knows the address of a closed connection only if it was read while the connection was open.

const LIMIT = 5;
let ran = 0;
let ended = 0;
let arrived: () => void = () => undefined;

/** Runs before FreqLimitGuard, like a guard that queries a database: the client has left by the time it returns. */
@Injectable()
class Slow implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { socket, stream } = requestOf(context);
    const connection = stream ?? socket;
    arrived();
    if (!connection.destroyed) await once(connection, 'close').catch(() => undefined);
    return true;
  }
}

interface NodeRequest {
  readonly socket: Socket;
  readonly stream?: Socket;
  readonly raw?: NodeRequest;
  readonly req?: NodeRequest;
}

function requestOf(context: ExecutionContext): NodeRequest {
  const request = context.getArgByIndex<NodeRequest | undefined>(context.getType() === 'http' ? 0 : 2)!;
  const { req = request } = request;
  return req.raw ?? req;
}

@Module({ providers: [{ provide: APP_GUARD, useClass: Slow }] })
class Guards {}

/** Each request ends here or in the handler. */
@Catch()
class Ends implements ExceptionFilter {
  catch(error: unknown): unknown {
    ended++;
    return error instanceof HttpException ? error : undefined;
  }
}

@Controller()
class Mails {
  @Post('send')
  @FreqLimit({ window: '10m', limit: LIMIT, key: '{ip}', name: 'address' })
  send(): string {
    ran++;
    ended++;
    return 'sent';
  }
}

@Resolver()
class MailsResolver {
  @Query(() => String)
  @FreqLimit({ window: '10m', limit: LIMIT, key: '{ip}', name: 'address' })
  send(): string {
    ran++;
    ended++;
    return 'sent';
  }
}

const POST = 'POST /send HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';

/** A shared secret instead of certificates. */
const secret = { psk: Buffer.from('a secret of a test'), identity: 'test' };
const TLS = {
  pskCallback: () => secret.psk,
  ciphers: 'PSK',
  maxVersion: 'TLSv1.2' as const,
};
const TLS_CLIENT: ConnectionOptions = {
  pskCallback: () => secret,
  ciphers: 'PSK',
  checkServerIdentity: () => undefined,
};

/** Sends a request, and resets the connection as soon as the slow guard waits. */
async function leave(
  port: number,
  send: (socket: Socket) => void = (socket) => socket.write(POST),
): Promise<void> {
  const here = new Promise<void>((resolve) => (arrived = resolve));
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  send(socket);
  await here;
  socket.resetAndDestroy();
}

async function leaveTimes(times: number, run: () => Promise<void>): Promise<number> {
  ran = ended = 0;
  for (let i = 0; i < times; i++) await run();
  await until(() => Promise.resolve(ended >= times));
  return ran;
}

async function listen(server: Server): Promise<void> {
  closing.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
}

function portOf(server: unknown): number {
  return ((server as Server).address() as AddressInfo).port;
}

async function usedBy(app: INestApplication, key: string): Promise<number | undefined> {
  const check = { rule: 'address', controller: Mails, handler: 'send', key };
  return (await app.get(FreqLimitService).peek(check)).results[0]?.used;
}

function quiet(app: INestApplication): void {
  app.useGlobalFilters(new Ends());
}

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await closeApps();
});

describe.each(PLATFORMS)('a client that resets its connection before the guard runs, %s', (platform) => {
  it.each(['ip', 'skip', 'deny'] as const)(
    'is counted by its address, onMissingKey %s',
    async (onMissingKey) => {
      const { app } = await serve(
        platform,
        { imports: [Guards, FreqLimitModule.forRoot({ onMissingKey })], controllers: [Mails] },
        undefined,
        quiet,
      );
      const port = portOf(app.getHttpServer());
      expect(await leaveTimes(100, () => leave(port))).toBe(LIMIT);
      expect(await usedBy(app, '127.0.0.1')).toBe(LIMIT);
      expect(await usedBy(app, 'gone')).toBe(0);
    },
  );

  it('is counted by the address from a trusted proxy', async () => {
    const module = await Test.createTestingModule({
      imports: [Guards, FreqLimitModule.forRoot({ onMissingKey: 'skip' })],
      controllers: [Mails],
    }).compile();
    const express = new ExpressAdapter();
    express.set('trust proxy', 'loopback');
    const adapter = platform === 'express' ? express : new FastifyAdapter({ trustProxy: 'loopback' });
    const app = module.createNestApplication(adapter, { logger: false });
    quiet(app);
    closing.push(() => app.close());
    await app.listen(0, '127.0.0.1');
    const port = portOf(app.getHttpServer());
    const forwarded = POST.replace('\r\n\r\n', '\r\nX-Forwarded-For: 198.51.100.9\r\n\r\n');
    expect(await leaveTimes(8, () => leave(port, (socket) => socket.write(forwarded)))).toBe(LIMIT);
    expect(await usedBy(app, '198.51.100.9')).toBe(LIMIT);
  });

  it('is counted by its address over TLS', async () => {
    const imports = [Guards, FreqLimitModule.forRoot({ onMissingKey: 'skip' })];
    const module = await Test.createTestingModule({ imports, controllers: [Mails] }).compile();
    const adapter =
      platform === 'express' ? new ExpressAdapter() : new FastifyAdapter({ https: TLS as object });
    const app = module.createNestApplication(adapter, { logger: false, httpsOptions: TLS });
    quiet(app);
    closing.push(() => app.close());
    await app.listen(0, '127.0.0.1');
    const port = portOf(app.getHttpServer());
    const send = (socket: Socket): void => void connectTls({ ...TLS_CLIENT, socket }).write(POST);
    expect(await leaveTimes(8, () => leave(port, send))).toBe(LIMIT);
    expect(await usedBy(app, '127.0.0.1')).toBe(LIMIT);
  });
});

it('a client that resets its HTTP/2 connection is counted by its address on Fastify', async () => {
  const imports = [Guards, FreqLimitModule.forRoot({ onMissingKey: 'skip' })];
  const module = await Test.createTestingModule({ imports, controllers: [Mails] }).compile();
  const app = module.createNestApplication(new FastifyAdapter({ http2: true } as object), { logger: false });
  quiet(app);
  closing.push(() => app.close());
  await app.listen(0, '127.0.0.1');
  const port = portOf(app.getHttpServer());
  const send = (socket: Socket): void => {
    const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket });
    session.on('error', () => undefined);
    session
      .request({ ':method': 'POST', ':path': '/send' })
      .on('error', () => undefined)
      .end();
  };
  expect(await leaveTimes(8, () => leave(port, send))).toBe(LIMIT);
  expect(await usedBy(app, '127.0.0.1')).toBe(LIMIT);
});

describe('a server that the application did not create', () => {
  async function start(limits: FreqLimitOptions): Promise<NestExpressApplication> {
    const imports: (DynamicModule | typeof Guards)[] = [Guards, FreqLimitModule.forRoot(limits)];
    const module = await Test.createTestingModule({ imports, controllers: [Mails] }).compile();
    const app = module.createNestApplication<NestExpressApplication>(new ExpressAdapter(), { logger: false });
    quiet(app);
    closing.push(() => app.close());
    return app;
  }

  it('knows the addresses of its clients', async () => {
    const app = await start({ onMissingKey: 'skip' });
    await app.init();
    const handler = app.getHttpAdapter().getInstance();
    const servers = [createServer(handler as never), createHttpsServer(TLS, handler as never)];
    for (const server of servers) await listen(server);
    const [plain, secure] = servers.map(portOf);
    const overTls = (socket: Socket): void => void connectTls({ ...TLS_CLIENT, socket }).write(POST);
    expect(await leaveTimes(3, () => leave(plain!))).toBe(3);
    expect(await leaveTimes(3, () => leave(secure!, overTls))).toBe(2);
    expect(await usedBy(app, '127.0.0.1')).toBe(LIMIT);
  });

  it('uses one counter for clients that disconnect before their address can be read', async () => {
    const app = await start({ onMissingKey: 'skip' });
    const handler = app.getHttpAdapter().getInstance();
    const server = createServer(handler as never);
    await listen(server);
    const early: Socket[] = [];
    for (let i = 0; i < 8; i++) {
      const socket = connect(portOf(server), '127.0.0.1').on('error', () => undefined);
      early.push(socket);
      await once(server, 'connection');
    }
    await app.init();
    ran = ended = 0;
    for (const socket of early) {
      const here = new Promise<void>((resolve) => (arrived = resolve));
      socket.write(POST);
      await here;
      socket.resetAndDestroy();
    }
    await until(() => Promise.resolve(ended >= early.length));
    expect(ran).toBe(LIMIT);
    expect(await usedBy(app, 'gone')).toBe(LIMIT);
    expect(await usedBy(app, '127.0.0.1')).toBe(0);
  });

  it('knows the addresses of connections passed on by another process', async () => {
    const app = await start({ onMissingKey: 'skip' });
    await app.init();
    const own = app.getHttpServer();
    const front = createServer();
    front.removeAllListeners('connection');
    front.on('connection', (socket) => own.emit('connection', socket));
    await listen(front);
    expect(await leaveTimes(8, () => leave(portOf(front)))).toBe(LIMIT);
    expect(await usedBy(app, '127.0.0.1')).toBe(LIMIT);
  });
});

describe.each(DRIVERS)('a resolver, %s', (driver) => {
  it('knows the address of a client that has left', async () => {
    const { app } = await startGraphql(
      driver,
      { imports: [Guards], limits: { onMissingKey: 'skip' }, resolvers: [MailsResolver] },
      quiet,
    );
    const body = '{"query":"{ send }"}';
    const request = `POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const port = portOf(app.getHttpServer());
    expect(await leaveTimes(8, () => leave(port, (socket) => socket.write(request)))).toBe(LIMIT);
    const check = { rule: 'address', controller: MailsResolver, handler: 'send', key: '127.0.0.1' };
    expect((await app.get(FreqLimitService).peek(check)).results).toMatchObject([{ used: LIMIT }]);
  });
});

it('a closed application stops watching connections', async () => {
  // other applications of the process may watch too
  const looks = (): number => {
    let times = 0;
    const socket = Object.defineProperty({}, 'remoteAddress', { get: () => times++ });
    channel('net.server.socket').publish({ socket });
    return times;
  };
  const before = looks();
  const { app } = await startApp('express', { controllers: [Mails] });
  expect(looks()).toBe(before + 1);
  await app.close();
  expect(looks()).toBe(before);
});
