import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import { WebSocket } from 'ws';
import { ChatGateway } from '../../examples/websockets/chat.gateway.js';
import { ConnectionsGateway as IoConnections } from '../../examples/websockets/connections.io-gateway.js';
import { ConnectionsGateway as WsConnections } from '../../examples/websockets/connections.ws-gateway.js';
import {
  FreqLimit,
  FreqLimitGuard,
  type FreqLimitOptions,
  FreqLimitVerdict,
  SkipFreqLimit,
  type Verdict,
} from 'nestjs-freq-limit';
import { PLATFORMS, serve, startApp } from '../support/app.js';
import { until } from '../support/cluster.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';
import {
  closeClients,
  connect,
  HAS_GLOBAL_GUARDS,
  LIBRARIES,
  startGateways,
  denied,
  reply,
} from '../support/sockets.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

afterEach(closeClients);

interface Socket {
  user?: { readonly id: string };
  data?: { user?: { readonly id: string } };
}

/** Sets the user of a client, as guards of applications do. */
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
    return reply('two');
  }
  @SubscribeMessage('free')
  free() {
    return reply('free');
  }
  @SubscribeMessage('room')
  @FreqLimit('1m', 1, 'room:{body.room}')
  room() {
    return reply('room');
  }
  @SubscribeMessage('token')
  @FreqLimit({ window: '1m', limit: 1, key: '{query.token}', onMissingKey: 'deny' })
  token() {
    return reply('token');
  }
  @SubscribeMessage('tenant')
  @FreqLimit('1m', 1, '{headers.X-Tenant}')
  tenant() {
    return reply('tenant');
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
    return reply('a');
  }
  @SubscribeMessage('b')
  @FreqLimit('1m', 1)
  b() {
    return reply('b');
  }
  @SubscribeMessage('skipped')
  @SkipFreqLimit()
  skipped() {
    return reply('skipped');
  }
}

describe.each(PLATFORMS)('gateways on %s', (platform) => {
  describe.each(LIBRARIES)('with %s', (library) => {
    it('deny the third message at a limit of two, and keep the socket and its other messages', async () => {
      const { url } = await startGateways(platform, library, [Chat], inRedis());
      const client = await connect(library, url);
      expect(await client.requestTimes(3, 'two', { text: 'hello' })).toEqual([
        reply('two'),
        reply('two'),
        denied(),
      ]);
      expect(await client.request('free')).toEqual(reply('free'));
      expect(client.isOpen()).toBe(true);
      const keys = await keysOf(suite.client, suite.namespace);
      expect(await Promise.all(keys.map((key) => suite.client.get(key)))).toEqual(['2', '2']);
      expect(keys.map((key) => key.split(':').at(-1))).toEqual(['127.0.0.1', '127.0.0.1']);
      // another client at the same address has the same counter
      expect(await (await connect(library, url)).request('two', {})).toEqual(denied());
    });

    it('apply the rules of the module, of the class and of the handler', async () => {
      const rules = [{ window: '1m', limit: 5, name: 'app' }] as const;
      const { url } = await startGateways(platform, library, [Levels], { rules });
      const client = await connect(library, url);
      expect(await client.request('a')).toEqual(reply('a'));
      expect(await client.request('b')).toEqual(reply('b'));
      expect(await client.request('b')).toEqual(denied());
      expect(await client.requestTimes(2, 'a')).toEqual([reply('a'), denied()]);
      expect(await client.requestTimes(6, 'skipped')).toEqual(Array(6).fill(reply('skipped')));
    });

    it('count by the message, the query and headers of the handshake, and the user', async () => {
      const { url } = await startGateways(platform, library, [Chat]);
      const query = 'token=t1';
      const headers = { 'x-tenant': 'acme' };
      const [one, two] = [
        await connect(library, url, { query, headers }),
        await connect(library, url, { query: 'token=t2', headers: { 'x-tenant': 'other' } }),
      ] as const;
      expect(await one.requestTimes(2, 'room', { room: 7 })).toEqual([reply('room'), denied()]);
      expect(await one.request('room', { room: 8 })).toEqual(reply('room'));
      expect(await two.request('room', { room: '8' })).toEqual(denied());
      expect(await one.requestTimes(2, 'token')).toEqual([reply('token'), denied()]);
      expect(await two.request('token')).toEqual(reply('token'));
      expect(await (await connect(library, url, { query })).request('token')).toEqual(denied());
      expect(await one.requestTimes(2, 'tenant')).toEqual([reply('tenant'), denied()]);
      expect(await two.request('tenant')).toEqual(reply('tenant'));
    });

    it('reject a message without its key with onMissingKey: deny', async () => {
      const { url } = await startGateways(platform, library, [Chat]);
      const client = await connect(library, url);
      expect(await client.request('token')).toEqual({
        event: 'exception',
        data: {
          status: 'error',
          code: 'BAD_REQUEST',
          message: 'Missing required value: query.token',
        },
      });
    });

    it('give a handler its verdict', async () => {
      const { url } = await startGateways(platform, library, [Chat]);
      const client = await connect(library, url);
      const answers = [await client.request('verdict', {}), await client.request('verdict', 'plain')];
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
    return reply('mine');
  }
}

describe.each(LIBRARIES)('a user of %s', (library) => {
  it('is read from the client or its data', async () => {
    @WebSocketGateway()
    class Recognised {
      @SubscribeMessage('who')
      @UseGuards(Recognise)
      who() {
        return reply('who');
      }
    }
    const { url } = await startGateways('express', library, [Users, Recognised]);
    const [one, two, three] = [
      await connect(library, url),
      await connect(library, url),
      await connect(library, url),
    ];
    await one.request('who', { as: 'u1' });
    await two.request('who', { dataAs: 'u1' });
    await three.request('who', { as: 'u2' });
    expect(await one.request('mine', {})).toEqual(reply('mine'));
    expect(await two.request('mine', {})).toEqual(denied());
    expect(await three.request('mine', {})).toEqual(reply('mine'));
  });
});

const { warnings } = captureLog();

describe.each(PLATFORMS)('a server without gateways on %s', (platform) => {
  it('answers an upgrade request like without limits', async () => {
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

describe('a gateway with limits', () => {
  @WebSocketGateway()
  class Unguarded {
    @SubscribeMessage('one')
    @FreqLimit('1m', 1)
    one() {
      return reply('one');
    }
    @SubscribeMessage('two')
    @FreqLimit('1m', 1)
    two() {
      return reply('two');
    }
    @SubscribeMessage('free')
    free() {
      return reply('free');
    }
  }
  @WebSocketGateway()
  @UseGuards(FreqLimitGuard)
  class Guarded {
    @SubscribeMessage('guarded')
    @FreqLimit('1m', 1)
    guarded() {
      return reply('guarded');
    }
  }

  it('is protected by the global guard since Nest 12, and has a warning before', async () => {
    // without `startGateways`, which adds the guard where Nest does not
    const { url } = await startApp('express', { providers: [Unguarded, Guarded] });
    const client = await connect('socket.io', url);
    expect(await client.requestTimes(2, 'one')).toEqual([
      reply('one'),
      HAS_GLOBAL_GUARDS ? denied() : reply('one'),
    ]);
    expect(await client.requestTimes(2, 'guarded')).toEqual([reply('guarded'), denied()]);
    const warning =
      'FREQ_LIMIT_UNPROTECTED_MESSAGE_HANDLER: Unguarded.one, Unguarded.two: FreqLimitGuard does not protect these ' +
      'message handlers, so their limits have no effect. This version of Nest does not apply global guards to gateways. ' +
      'Add @UseGuards(FreqLimitGuard) to the handlers.';
    expect(warnings).toEqual(HAS_GLOBAL_GUARDS ? [] : [warning]);
  });
});

describe('the examples', () => {
  it.each(LIBRARIES)('limit messages and rooms, with %s', async (library) => {
    const { url } = await startGateways('express', library, [ChatGateway]);
    const client = await connect(library, url);
    expect(await client.request('left')).toEqual({ event: 'left', data: 29 });
    const hello = { room: 'lobby', text: 'hello' };
    expect(await client.requestTimes(6, 'say', hello)).toEqual([
      ...Array(5).fill({ event: 'said', data: 'hello' }),
      denied(10),
    ]);
    expect(await client.request('left', 'plain')).toEqual({ event: 'left', data: 28 });
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
});

describe('socket.io', () => {
  it('counts each namespace’s gateway separately, with the same handshake', async () => {
    @WebSocketGateway({ namespace: 'admin' })
    class Admin {
      @SubscribeMessage('token')
      @FreqLimit('1m', 1, '{query.token}')
      token() {
        return reply('admin');
      }
    }
    const { url } = await startGateways('express', 'socket.io', [Chat, Admin]);
    const [chat, admin] = [
      await connect('socket.io', url, { query: 'token=a' }),
      await connect('socket.io', `${url}/admin`, { query: 'token=a' }),
    ];
    expect(await chat.requestTimes(2, 'token')).toEqual([reply('token'), denied()]);
    expect(await admin.requestTimes(2, 'token')).toEqual([reply('admin'), denied()]);
  });
});
