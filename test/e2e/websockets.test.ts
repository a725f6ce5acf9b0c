import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Logger,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { jest } from '@jest/globals';
import {
  BaseWsExceptionFilter,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WebSocketServer,
  WsException,
} from '@nestjs/websockets';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { of, throwError } from 'rxjs';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { ChatGateway } from '../../examples/websockets/chat.gateway.js';
import { ConnectionsGateway as IoConnections } from '../../examples/websockets/connections.io-gateway.js';
import { ConnectionsGateway as WsConnections } from '../../examples/websockets/connections.ws-gateway.js';
import { BEHIND_ONE_PROXY } from '../../examples/websockets/fastify-address.js';
import {
  FreqLimit,
  type FreqLimitEvent,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitVerdict,
  isFreqLimitExceeded,
  SkipFreqLimit,
  type Verdict,
} from '../../src/index.js';
import { PLATFORMS, serve, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { keysOf, redisUrl } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';
import { freePort } from '../support/server.js';
import { signal } from '../support/signal.js';
import {
  type Client,
  closeClients,
  connect,
  HAS_GLOBAL_GUARDS,
  LIBRARIES,
  startGateways,
  type Told,
} from '../support/sockets.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => ({ redis: redisUrl(), namespace: suite.namespace, timeoutMs: 5_000 });

afterEach(closeClients);

interface Socket {
  user?: { readonly id: string };
  data?: { user?: { readonly id: string } };
}

/** Says who a client is, as guards of applications do. */
@Injectable()
class Recognise implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const [client, message] = context.getArgs<[Socket, { as?: string; dataAs?: string }]>();
    if (message.as !== undefined) client.user = { id: message.as };
    if (message.dataAs !== undefined) client.data = { ...client.data, user: { id: message.dataAs } };
    return true;
  }
}

@WebSocketGateway()
class Chat {
  @SubscribeMessage('two')
  @FreqLimit('1m', 2)
  @FreqLimit({ window: '1h', limit: 5, name: 'hourly' })
  two() {
    return said('two');
  }
  @SubscribeMessage('free')
  free() {
    return said('free');
  }
  @SubscribeMessage('room')
  @FreqLimit('1m', 1, 'room:{body.room}')
  room() {
    return said('room');
  }
  @SubscribeMessage('token')
  @FreqLimit({ window: '1m', limit: 1, key: '{query.token}', onMissingKey: 'deny' })
  token() {
    return said('token');
  }
  @SubscribeMessage('tenant')
  @FreqLimit('1m', 1, '{headers.X-Tenant}')
  tenant() {
    return said('tenant');
  }
  @SubscribeMessage('verdict')
  @FreqLimit('1m', 2)
  verdict(@FreqLimitVerdict() { allowed, results }: Verdict) {
    return { event: 'verdict', data: [allowed, results[0]?.remaining] };
  }
}

@WebSocketGateway()
@FreqLimit({ window: '1m', limit: 3, name: 'gateway' })
class Levels {
  @SubscribeMessage('a')
  a() {
    return said('a');
  }
  @SubscribeMessage('b')
  @FreqLimit('1m', 1)
  b() {
    return said('b');
  }
  @SubscribeMessage('skipped')
  @SkipFreqLimit()
  skipped() {
    return said('skipped');
  }
}

const said = (data: unknown): Told => ({ event: 'said', data });
const passed = (name: string) => said(name);
const denied = (retryAfter = 60) => ({
  event: 'exception',
  data: {
    status: 'error',
    code: 'TOO_MANY_REQUESTS',
    message: `Too many requests, try again in ${retryAfter} s`,
    retryAfter,
  },
});

describe.each(PLATFORMS)('gateways on %s', (platform) => {
  describe.each(LIBRARIES)('of %s', (library) => {
    it('deny the third message of two, and leave the socket and its other messages alone', async () => {
      const { url } = await startGateways(platform, library, [Chat], inRedis());
      const client = await connect(library, url);
      expect(await client.askTimes(3, 'two', { text: 'hello' })).toEqual([
        passed('two'),
        passed('two'),
        denied(),
      ]);
      expect(await client.ask('free')).toEqual(passed('free'));
      expect(client.isOpen()).toBe(true);
      const keys = await keysOf(suite.client, suite.namespace);
      expect(await Promise.all(keys.map((key) => suite.client.get(key)))).toEqual(['2', '2']);
      expect(keys.map((key) => key.split(':').at(-1))).toEqual(['127.0.0.1', '127.0.0.1']);
      // another client of the same address has the same counter
      expect(await (await connect(library, url)).ask('two', {})).toEqual(denied());
    });

    it('ask the rules of the module, of the class and of the handler', async () => {
      const rules = [{ window: '1m', limit: 5, name: 'app' }] as const;
      const { url } = await startGateways(platform, library, [Levels], { rules });
      const client = await connect(library, url);
      expect(await client.ask('a')).toEqual(passed('a'));
      expect(await client.ask('b')).toEqual(passed('b'));
      expect(await client.ask('b')).toEqual(denied());
      expect(await client.askTimes(2, 'a')).toEqual([passed('a'), denied()]);
      expect(await client.askTimes(6, 'skipped')).toEqual(Array(6).fill(passed('skipped')));
    });

    it('count by the message, the handshake’s query and headers, and the user', async () => {
      const { url } = await startGateways(platform, library, [Chat]);
      const query = 'token=t1';
      const headers = { 'x-tenant': 'acme' };
      const [one, two] = [
        await connect(library, url, { query, headers }),
        await connect(library, url, { query: 'token=t2', headers: { 'x-tenant': 'other' } }),
      ] as const;
      expect(await one.askTimes(2, 'room', { room: 7 })).toEqual([passed('room'), denied()]);
      expect(await one.ask('room', { room: 8 })).toEqual(passed('room'));
      expect(await two.ask('room', { room: '8' })).toEqual(denied());
      expect(await one.askTimes(2, 'token')).toEqual([passed('token'), denied()]);
      expect(await two.ask('token')).toEqual(passed('token'));
      expect(await (await connect(library, url, { query })).ask('token')).toEqual(denied());
      expect(await one.askTimes(2, 'tenant')).toEqual([passed('tenant'), denied()]);
      expect(await two.ask('tenant')).toEqual(passed('tenant'));
    });

    it('refuse a message without its key where the rule says so', async () => {
      const { url } = await startGateways(platform, library, [Chat]);
      const client = await connect(library, url);
      expect(await client.ask('token')).toEqual({
        event: 'exception',
        data: {
          status: 'error',
          code: 'BAD_REQUEST',
          message: 'The request lacks what its limit counts by: query token',
        },
      });
    });

    it('show a handler its verdict', async () => {
      const { url } = await startGateways(platform, library, [Chat]);
      const client = await connect(library, url);
      const answers = [await client.ask('verdict', {}), await client.ask('verdict', 'plain')];
      expect(answers.map(({ data }) => data)).toEqual([
        [true, 1],
        [true, 0],
      ]);
    });
  });
});

@WebSocketGateway()
class Users {
  @SubscribeMessage('mine')
  @UseGuards(Recognise)
  @FreqLimit('1m', 1, '{user.id}')
  mine() {
    return said('mine');
  }
}

describe.each(LIBRARIES)('a user of %s', (library) => {
  it('is what the application has set on the client, or on its data', async () => {
    @WebSocketGateway()
    class Recognised {
      @SubscribeMessage('who')
      @UseGuards(Recognise)
      who() {
        return said('who');
      }
    }
    const { url } = await startGateways('express', library, [Users, Recognised]);
    const [one, two, three] = [
      await connect(library, url),
      await connect(library, url),
      await connect(library, url),
    ];
    await one.ask('who', { as: 'u1' });
    await two.ask('who', { dataAs: 'u1' });
    await three.ask('who', { as: 'u2' });
    expect(await one.ask('mine', {})).toEqual(passed('mine'));
    expect(await two.ask('mine', {})).toEqual(denied());
    expect(await three.ask('mine', {})).toEqual(passed('mine'));
  });
});

/** What the log was told, of what kind. */
function logged(level: 'warn' | 'error'): string[] {
  const lines: string[] = [];
  jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => {
    lines.push(String(line));
  });
  return lines;
}

@WebSocketGateway()
class Addresses {
  @SubscribeMessage('ip')
  @FreqLimit('1m', 1, '{ip}')
  ip() {
    return said('ip');
  }
}

describe.each(LIBRARIES)('the address of a client of %s', (library) => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const addresses = async () =>
    (await keysOf(suite.client, suite.namespace)).map((key) => key.slice(key.lastIndexOf(':') + 1)).sort();

  it('is what Express’s trust proxy makes of its handshake', async () => {
    const { url } = await startGateways('express', library, [Addresses], inRedis(), {
      prepare: (app) => void app.getHttpAdapter().getInstance().set('trust proxy', 'loopback'),
    });
    const warnings = logged('warn');
    const ask = async (address: string) => (await connect(library, url, from(address))).ask('ip', {});
    expect(await ask('6.6.6.1, 198.51.100.9')).toEqual(passed('ip'));
    expect(await ask('6.6.6.2, ::ffff:198.51.100.9')).toEqual(denied());
    expect(await ask('198.51.100.10')).toEqual(passed('ip'));
    expect(await addresses()).toEqual(['198.51.100.10', '198.51.100.9']);
    expect(warnings).toEqual([]);
  });

  it.each(PLATFORMS)(
    'is the socket’s where nothing is trusted, with one warning, on %s',
    async (platform) => {
      const { url } = await startGateways(platform, library, [Addresses], inRedis());
      const warnings = logged('warn');
      const ask = async (address: string) => (await connect(library, url, from(address))).ask('ip', {});
      expect(await ask('198.51.100.1')).toEqual(passed('ip'));
      expect(await ask('198.51.100.2')).toEqual(denied());
      expect(await addresses()).toEqual(['127.0.0.1']);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('contextAdapters');
    },
  );

  it('is known of a message whose client is gone when its turn comes', async () => {
    const [come, gone, done] = [signal(), signal(), signal()];
    class Late implements CanActivate {
      async canActivate() {
        come.give();
        await gone.given;
        return true;
      }
    }
    @WebSocketGateway()
    class Patient {
      handleDisconnect() {
        // the socket is closed a little later
        setImmediate(gone.give);
      }
      @SubscribeMessage('late')
      @UseGuards(Late, FreqLimitGuard)
      @FreqLimit('1m', 1, '{ip}')
      late() {
        done.give();
      }
    }
    const { url } = await startGateways('express', library, [Patient], { ...inRedis(), globalGuard: false });
    const client = await connect(library, url);
    client.send('late', {});
    await come.given;
    client.close();
    await done.given;
    expect(await addresses()).toEqual(['127.0.0.1']);
  });
});

/** Holds messages that say 'slow' until one that does not has been answered. */
class Overtaken implements CanActivate {
  private static go: () => void;
  private static overtaken: Promise<void>;

  static reset(): void {
    this.overtaken = new Promise((resolve) => (this.go = resolve));
  }

  async canActivate(context: ExecutionContext) {
    const message = context.switchToWs().getData<string>();
    if (message === 'refused') return false;
    if (message.startsWith('slow')) await Overtaken.overtaken;
    return true;
  }

  static let(): void {
    this.go();
  }
}

const message = (context: ExecutionContext) => context.switchToWs().getData<string>();

@WebSocketGateway()
class InFlight {
  @SubscribeMessage('verdict')
  @FreqLimit({
    window: '1m',
    limit: (context) => (message(context) === 'slow' ? 5 : 9),
    key: message,
  })
  @UseGuards(Overtaken)
  verdict(@MessageBody() text: string, @FreqLimitVerdict() { tightest }: Verdict) {
    Overtaken.let();
    return said([text, tightest?.limit]);
  }
  @SubscribeMessage('failures')
  @FreqLimit({ window: '1m', limit: 9, key: message, countWhen: 'failure' })
  @UseGuards(Overtaken)
  failures(@MessageBody() text: string) {
    Overtaken.let();
    if (text.endsWith('wrong')) throw new WsException('wrong');
    return said(text);
  }
  @SubscribeMessage('ten')
  @FreqLimit('1m', 10)
  ten(@FreqLimitVerdict() { tightest }: Verdict) {
    return said(tightest?.remaining);
  }
  @SubscribeMessage('ten-failures')
  @FreqLimit({ window: '1m', limit: 10, countWhen: 'failure' })
  async tenFailures() {
    throw new WsException('wrong');
  }
}

describe.each(LIBRARIES)('messages in flight on one client of %s', (library) => {
  beforeEach(() => {
    Overtaken.reset();
  });
  const counters = async () => {
    const keys = (await keysOf(suite.client, suite.namespace)).sort();
    return Promise.all(
      keys.map(async (key) => [key.slice(key.lastIndexOf(':') + 1), await suite.client.get(key)]),
    );
  };
  const toldOf = async (client: Client, count: number): Promise<Told[]> => {
    const told: Told[] = [];
    for (let i = 0; i < count; i++) told.push(await client.next());
    return told;
  };

  it.each([
    ['plain texts', 'hello'],
    ['objects', {}],
    ['nothing', undefined],
  ])('are never let pass beyond the limit, and have their own verdicts: %s', async (_, payload) => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    for (let i = 0; i < 200; i++) client.send('ten', payload);
    const told = await toldOf(client, 200);
    const seen = told.filter(({ event }) => event === 'said').map(({ data }) => data);
    expect(seen.sort((a, b) => Number(b) - Number(a))).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(told.filter(({ event }) => event === 'exception')).toEqual(Array(190).fill(denied()));
  });

  it('keep their own verdict where one overtakes another', async () => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    client.send('verdict', 'slow');
    client.send('verdict', 'fast');
    expect((await toldOf(client, 2)).map(({ data }) => data)).toEqual([
      ['fast', 9],
      ['slow', 5],
    ]);
  });

  it('give back what is theirs where one overtakes another, or is refused behind the limit', async () => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    client.send('failures', 'refused');
    client.send('failures', 'slow-wrong');
    client.send('failures', 'slow-right');
    client.send('failures', 'right');
    client.send('failures', 'wrong');
    await toldOf(client, 5);
    // of a message that a guard behind refuses nobody learns how it ended: it counts
    expect(await counters()).toEqual([
      ['refused', '1'],
      ['slow-wrong', '1'],
      ['wrong', '1'],
    ]);
  });

  it('never are more than the limit under way where only failures count', async () => {
    const { url } = await startGateways('express', library, [InFlight], inRedis());
    const client = await connect(library, url);
    for (let i = 0; i < 100; i++) client.send('ten-failures', 'wrong');
    const told = await toldOf(client, 100);
    expect(told.filter(({ data }) => (data as { message: string }).message === 'wrong')).toHaveLength(10);
    expect(await counters()).toEqual([['127.0.0.1', '10']]);
  });
});

class Brewing extends WsException {}

@WebSocketGateway()
class Odds {
  @SubscribeMessage('acknowledged')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.room}', countWhen: 'success' })
  acknowledged(@FreqLimitVerdict() { tightest }: Verdict) {
    return { left: tightest?.remaining };
  }
  @SubscribeMessage('binary')
  @FreqLimit({ window: '1m', limit: 1, key: '{body.room}' })
  binary(@MessageBody() body: Buffer, @FreqLimitVerdict() { tightest }: Verdict) {
    return said([body.length, tightest?.remaining]);
  }
  @SubscribeMessage('shadow')
  @FreqLimit({ window: '1m', limit: 1, shadow: true, name: 'trial' })
  shadow(@FreqLimitVerdict() { results }: Verdict) {
    return said(results.map(({ allowed, shadow }) => [allowed, shadow]));
  }
  @SubscribeMessage('stream')
  @FreqLimit({ window: '1m', limit: 1, countWhen: 'failure' })
  stream(@MessageBody() { fails }: { fails: boolean }) {
    return fails ? throwError(() => new WsException('broken')) : of(said(1), said(2));
  }
  @SubscribeMessage('teapot')
  @FreqLimit({ window: '1m', limit: 0, statusCode: 418, message: 'short and stout' })
  teapot() {
    return said('tea');
  }
  @SubscribeMessage('fails')
  @FreqLimit({
    window: '1m',
    limit: 1,
    key: () => {
      throw new Error('no key');
    },
  })
  fails() {
    return said('never');
  }
}

describe.each(LIBRARIES)('a message handler of %s', (library) => {
  const start = (limits: FreqLimitOptions = {}) => startGateways('express', library, [Odds], limits);

  it('with a shadow rule answers all, and the log says what would have been denied', async () => {
    const { url } = await start();
    const warnings = logged('warn');
    const client = await connect(library, url);
    expect(await client.askTimes(2, 'shadow')).toEqual([said([[true, true]]), said([[false, true]])]);
    expect(warnings).toEqual(['Odds.shadow, rule "trial": a shadow rule, which would have denied a visit']);
  });

  it('counts only failures, also where it answers with a stream', async () => {
    const { url } = await start();
    const client = await connect(library, url);
    expect([await client.ask('stream', { fails: false }), await client.next()]).toEqual([said(1), said(2)]);
    expect((await client.ask('stream', { fails: true })).event).toBe('exception');
    expect(await client.ask('stream', { fails: false })).toEqual(denied());
  });

  it('denies with the status and the words of its rule', async () => {
    const { url } = await start();
    const { data } = await (await connect(library, url)).ask('teapot');
    expect(data).toEqual({
      status: 'error',
      code: 'I_M_A_TEAPOT',
      message: 'short and stout',
      retryAfter: 60,
    });
  });

  it('denies with what the application makes of it', async () => {
    const { url } = await start({ exceptionFactory: () => new Brewing({ mine: true }) });
    expect(await (await connect(library, url)).ask('teapot')).toEqual({
      event: 'exception',
      data: { mine: true },
    });
  });

  it('throws a denial that filters know, with its verdict', async () => {
    const seen: unknown[] = [];
    @Catch(WsException)
    class Telling extends BaseWsExceptionFilter {
      override catch(exception: WsException, host: ArgumentsHost): void {
        seen.push(isFreqLimitExceeded(exception) && exception.verdict.tightest?.limit);
        super.catch(exception, host);
      }
    }
    @WebSocketGateway()
    @UseFilters(Telling)
    class Filtered {
      @SubscribeMessage('closed')
      @FreqLimit('1m', 0)
      closed() {
        return said('never');
      }
    }
    const { url } = await startGateways('express', library, [Filtered]);
    (await connect(library, url)).send('closed');
    await until(() => seen.length > 0);
    expect(seen).toEqual([0]);
  });

  it('is not reached where a function of a rule fails: an error without details, and a line in the log', async () => {
    const { url } = await start();
    const errors = logged('error');
    const client = await connect(library, url);
    expect(await client.ask('fails')).toEqual({
      event: 'exception',
      data: { status: 'error', code: 'INTERNAL_SERVER_ERROR', message: 'Internal Server Error' },
    });
    expect(errors).toEqual(['@FreqLimit on Odds.fails, rule "1m": the key function failed: no key']);
    expect(client.isOpen()).toBe(true);
  });

  it('has no answer to set headers on, and tries none', async () => {
    const { url } = await startGateways('express', library, [Odds], { headers: 'both' });
    const errors = logged('error');
    const client = await connect(library, url);
    expect(await client.ask('teapot')).toEqual({ event: 'exception', data: expect.anything() });
    expect(errors).toEqual([]);
  });
});

describe('socket.io', () => {
  it('is acknowledged what passes, and told an exception where it is denied, with no acknowledgement', async () => {
    const { url } = await startGateways('express', 'socket.io', [Odds]);
    const socket = io(url, { transports: ['websocket'], forceNew: true });
    const exceptions: unknown[] = [];
    socket.on('exception', (told: unknown) => exceptions.push(told));
    expect(await socket.emitWithAck('acknowledged', { room: 1 })).toEqual({ left: 0 });
    const answered = socket.timeout(100).emitWithAck('acknowledged', { room: 1 });
    await expect(answered).rejects.toThrow('operation has timed out');
    expect(exceptions).toEqual([denied().data]);
    expect(await socket.emitWithAck('acknowledged', 'plain')).toEqual({ left: 0 });
    socket.disconnect();
  });

  it('may send bytes, which hold no key', async () => {
    const { url } = await startGateways('express', 'socket.io', [Odds], inRedis());
    const client = await connect('socket.io', url);
    expect(await client.askTimes(2, 'binary', Buffer.from('room'))).toEqual([said([4, 0]), denied()]);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([
      expect.stringMatching(/:!ip:127\.0\.0\.1$|127\.0\.0\.1$/),
    ]);
  });

  it('is known by the request that it came with, whether it begins with polling or not', async () => {
    const { url } = await startGateways('express', 'socket.io', [Chat, Addresses]);
    for (const transports of [['polling'], ['polling', 'websocket']]) {
      const socket = io(url, { transports, forceNew: true, query: { token: transports.join() } });
      const told: string[] = [];
      socket.onAny((event: string) => told.push(event));
      await new Promise((resolve) => socket.once('connect', () => resolve(undefined)));
      socket.emit('token', {});
      socket.emit('token', {});
      await until(() => told.length === 2);
      expect(told).toEqual(['said', 'exception']);
      socket.disconnect();
    }
  });

  it('counts per namespace’s gateway, with the same handshake', async () => {
    @WebSocketGateway({ namespace: 'admin' })
    class Admin {
      @SubscribeMessage('token')
      @FreqLimit('1m', 1, '{query.token}')
      token() {
        return said('admin');
      }
    }
    const { url } = await startGateways('express', 'socket.io', [Chat, Admin]);
    const [chat, admin] = [
      await connect('socket.io', url, { query: 'token=a' }),
      await connect('socket.io', `${url}/admin`, { query: 'token=a' }),
    ];
    expect(await chat.askTimes(2, 'token')).toEqual([passed('token'), denied()]);
    expect(await admin.askTimes(2, 'token')).toEqual([said('admin'), denied()]);
  });
});

describe('a handshake', () => {
  const query = 'token=a&token=b';

  it('of ws that says a parameter twice says none', async () => {
    const { url } = await startGateways('express', 'ws', [Chat]);
    const { data } = await (await connect('ws', url, { query })).ask('token');
    expect(data).toMatchObject({ code: 'BAD_REQUEST' });
  });

  it('of socket.io that says a parameter twice says none', async () => {
    const { url } = await startGateways('express', 'socket.io', [Chat]);
    // its own client would make one of them
    const path = `socket.io/?EIO=4&transport=websocket&${query}`;
    const socket = new WebSocket(`${url.replace('http', 'ws')}/${path}`);
    const told: string[] = [];
    socket.on('message', (packet: Buffer) => told.push(packet.toString()));
    await until(() => told.length === 1);
    socket.send('40');
    await until(() => told.length === 2);
    socket.send('42["token"]');
    await until(() => told.length === 3);
    expect(told[2]).toContain('"code":"BAD_REQUEST"');
    socket.close();
  });
});

describe('a gateway of ws on a port of its own', () => {
  it('knows its clients’ address, and their query and headers where it has its server', async () => {
    const port = await freePort();
    @WebSocketGateway(port)
    class Own {
      @WebSocketServer() server: unknown;
      @SubscribeMessage('token')
      @FreqLimit('1m', 1, '{query.token}{headers.x-tenant}')
      token() {
        return said('token');
      }
      @SubscribeMessage('ip')
      @FreqLimit('1m', 1, '{ip}')
      ip() {
        return said('ip');
      }
    }
    await startGateways('express', 'ws', [Own], inRedis());
    const arrival = { query: 'token=t', headers: { 'x-tenant': 'acme' } };
    const client = await connect('ws', `http://127.0.0.1:${port}`, arrival);
    expect(await client.askTimes(2, 'token')).toEqual([said('token'), denied()]);
    expect(await client.askTimes(2, 'ip')).toEqual([said('ip'), denied()]);
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys.map((key) => key.slice(key.indexOf('60000:') + 6)).sort()).toEqual(['127.0.0.1', 't|acme']);
  });

  it('knows the address alone where it has not', async () => {
    const port = await freePort();
    @WebSocketGateway(port)
    class Own {
      @SubscribeMessage('ip')
      @FreqLimit('1m', 1, '{ip}')
      ip() {
        return said('ip');
      }
      @SubscribeMessage('token')
      @FreqLimit({ window: '1m', limit: 1, key: '{query.token}', onMissingKey: 'deny' })
      token() {
        return said('token');
      }
    }
    await startGateways('fastify', 'ws', [Own], inRedis());
    const client = await connect('ws', `http://127.0.0.1:${port}`, { query: 'token=t' });
    expect(await client.askTimes(2, 'ip')).toEqual([said('ip'), denied()]);
    expect((await client.ask('token')).data).toMatchObject({ code: 'BAD_REQUEST' });
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:127\.0\.0\.1$/);
  });
});

describe.each(PLATFORMS)('a server without gateways on %s', (platform) => {
  it('answers a request for an upgrade as it does without limits', async () => {
    @Controller()
    class Plain {
      @Get()
      get() {
        return 'ok';
      }
    }
    const answerOf = async (url: string) => {
      const asking = request(url, {
        agent: false,
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return answer.statusCode;
    };
    const limited = await startApp(platform, { controllers: [Plain] });
    const bare = await serve(platform, { controllers: [Plain] });
    expect((limited.app.getHttpServer() as Server).listenerCount('upgrade')).toBe(0);
    expect(await answerOf(limited.url)).toBe(await answerOf(bare.url));
    expect(await answerOf(limited.url)).toBe(200);
  });
});

describe.each(LIBRARIES)('a long connection of %s', (library) => {
  it('keeps nothing of its messages', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const verdicts: WeakRef<Verdict>[] = [];
    const onVerdict = ({ verdict }: FreqLimitEvent) => verdicts.push(new WeakRef(verdict));
    const { url } = await startGateways('express', library, [InFlight], { onVerdict });
    const client = await connect(library, url);
    for (const payload of ['plain', {}]) {
      for (const event of ['ten', 'ten-failures']) await client.askTimes(300, event, payload);
    }
    await new Promise(setImmediate);
    collect();
    await new Promise(setImmediate);
    collect();
    expect(verdicts).toHaveLength(1_200);
    expect(verdicts.filter((verdict) => verdict.deref() !== undefined).length).toBeLessThan(20);
  });
});

describe('a gateway with limits', () => {
  @WebSocketGateway()
  class Unguarded {
    @SubscribeMessage('one')
    @FreqLimit('1m', 1)
    one() {
      return said('one');
    }
    @SubscribeMessage('two')
    @FreqLimit('1m', 1)
    two() {
      return said('two');
    }
    @SubscribeMessage('free')
    free() {
      return said('free');
    }
  }
  @WebSocketGateway()
  @UseGuards(FreqLimitGuard)
  class Guarded {
    @SubscribeMessage('guarded')
    @FreqLimit('1m', 1)
    guarded() {
      return said('guarded');
    }
  }

  it('stands behind the global guard from Nest 12 on; before, the log says that it does not', async () => {
    const warnings = logged('warn');
    // not by `startGateways`, which puts the guard before gateways where Nest does not
    const { url } = await startApp('express', { providers: [Unguarded, Guarded] });
    const client = await connect('socket.io', url);
    expect(await client.askTimes(2, 'one')).toEqual([
      said('one'),
      HAS_GLOBAL_GUARDS ? denied() : said('one'),
    ]);
    expect(await client.askTimes(2, 'guarded')).toEqual([said('guarded'), denied()]);
    const warning =
      'Unguarded.one, Unguarded.two: limits on message handlers of gateways, before which this version of Nest puts ' +
      'no global guard: write @UseGuards(FreqLimitGuard) beside the limits.';
    expect(warnings).toEqual(HAS_GLOBAL_GUARDS ? [] : [warning]);
  });
});

describe('the examples', () => {
  it.each(LIBRARIES)('limit messages and rooms, with %s', async (library) => {
    const { url } = await startGateways('express', library, [ChatGateway]);
    const client = await connect(library, url);
    expect(await client.ask('left')).toEqual({ event: 'left', data: 29 });
    const hello = { room: 'lobby', text: 'hello' };
    expect(await client.askTimes(6, 'say', hello)).toEqual([...Array(5).fill(said('hello')), denied(10)]);
    expect(await client.ask('left', 'plain')).toEqual({ event: 'left', data: 28 });
  });

  it('limit handshakes of ws', async () => {
    const { url } = await startGateways('express', 'ws', [WsConnections]);
    const sockets = Array.from({ length: 31 }, () => new WebSocket(url.replace('http', 'ws')));
    const closed = await Promise.race(
      sockets.map(async (socket) => (await once(socket, 'close')) as unknown[]),
    );
    expect([closed[0], String(closed[1])]).toEqual([1008, 'Too many connections']);
    await until(() => sockets.filter(({ readyState }) => readyState === WebSocket.CLOSED).length === 1);
    expect(sockets.filter(({ readyState }) => readyState === WebSocket.OPEN)).toHaveLength(30);
    for (const socket of sockets) socket.close();
  });

  it('limit handshakes of socket.io', async () => {
    const { url } = await startGateways('express', 'socket.io', [IoConnections]);
    for (let i = 0; i < 30; i++) await connect('socket.io', url);
    await expect(connect('socket.io', url)).rejects.toThrow('Too many connections');
  });

  it('read on Fastify the address that a proxy tells', async () => {
    const { url } = await startGateways('fastify', 'socket.io', [Addresses], {
      ...inRedis(),
      contextAdapters: { ws: BEHIND_ONE_PROXY },
    });
    const client = await connect('socket.io', url, {
      headers: { 'x-forwarded-for': '6.6.6.6, 198.51.100.9' },
    });
    expect(await client.ask('ip', {})).toEqual(passed('ip'));
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:198\.51\.100\.9$/);
  });
});

describe.each(PLATFORMS)('a client on a unix socket, %s', (platform) => {
  it('shares a counter with all of that kind, and none with a client that has an address', async () => {
    const { app, url } = await startGateways(platform, 'ws', [Addresses], inRedis());
    const warnings = logged('warn');
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-'));
    const path = join(dir, 'ws.sock');
    const local = createServer();
    for (const listener of (app.getHttpServer() as Server).listeners('upgrade')) {
      local.on('upgrade', listener as () => void);
    }
    local.listen(path);
    await once(local, 'listening');
    const told: unknown[] = [];
    for (const message of [1, 2]) {
      const socket = new WebSocket(`ws+unix:${path}:/`);
      await once(socket, 'open');
      socket.send(JSON.stringify({ event: 'ip', data: { message } }));
      const [answer] = (await once(socket, 'message')) as [Buffer];
      told.push(JSON.parse(answer.toString()));
      socket.close();
    }
    expect(told).toEqual([said('ip'), denied()]);
    expect(await (await connect('ws', url)).ask('ip', {})).toEqual(said('ip'));
    const keys = (await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1));
    expect(keys.sort()).toEqual(['!no-address', '127.0.0.1']);
    expect(warnings).toEqual([expect.stringMatching(/^A request came without an address/)]);
    local.close();
    await rm(dir, { recursive: true });
  });
});
