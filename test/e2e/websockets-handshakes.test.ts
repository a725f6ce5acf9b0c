import { type CanActivate, UseGuards } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { BEHIND_ONE_PROXY } from '../../examples/websockets/fastify-address.js';
import { FreqLimit, FreqLimitGuard, type FreqLimitOptions } from 'nestjs-freq-limit';
import { PLATFORMS } from '../support/app.js';
import { until } from '../support/cluster.js';
import { limitsIn } from '../support/kinds.js';
import { captureLog, logLine } from '../support/log.js';
import { redisSuite } from '../support/redis-suite.js';
import { keysOf } from '../support/redis.js';
import { freePort } from '../support/server.js';
import { signal } from '../support/signal.js';
import { closeClients, connect, LIBRARIES, startGateways, denied, reply } from '../support/sockets.js';

const suite = redisSuite();
const inRedis = (): FreqLimitOptions => limitsIn('redis', suite);

afterEach(closeClients);

@WebSocketGateway()
class Tokens {
  @SubscribeMessage('token')
  @FreqLimit({ window: '1m', limit: 1, key: '{query.token}', onMissingKey: 'deny' })
  token() {
    return reply('token');
  }
}

const { warnings } = captureLog();

@WebSocketGateway()
class Addresses {
  @SubscribeMessage('ip')
  @FreqLimit('1m', 1, '{ip}')
  ip() {
    return reply('ip');
  }
}

describe.each(LIBRARIES)('the address of a client of %s', (library) => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const addresses = async () =>
    (await keysOf(suite.client, suite.namespace)).map((key) => key.slice(key.lastIndexOf(':') + 1)).sort();

  it('is the one that Express’s trust proxy finds in its handshake', async () => {
    const { url } = await startGateways('express', library, [Addresses], inRedis(), {
      prepare: (app) => void app.getHttpAdapter().getInstance().set('trust proxy', 'loopback'),
    });
    const send = async (address: string) => (await connect(library, url, from(address))).request('ip', {});
    expect(await send('6.6.6.1, 198.51.100.9')).toEqual(reply('ip'));
    expect(await send('6.6.6.2, ::ffff:198.51.100.9')).toEqual(denied());
    expect(await send('198.51.100.10')).toEqual(reply('ip'));
    expect(await addresses()).toEqual(['198.51.100.10', '198.51.100.9']);
    expect(warnings).toEqual([]);
  });

  it.each(PLATFORMS)('is the socket’s if no proxy is trusted, with one warning, on %s', async (platform) => {
    const { url } = await startGateways(platform, library, [Addresses], inRedis());
    const send = async (address: string) => (await connect(library, url, from(address))).request('ip', {});
    expect(await send('198.51.100.1')).toEqual(reply('ip'));
    expect(await send('198.51.100.2')).toEqual(denied());
    expect(await addresses()).toEqual(['127.0.0.1']);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('contextAdapters');
  });

  it('is known if the client disconnects before its message is handled', async () => {
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
        // the socket closes a little later
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

describe('a handshake', () => {
  const query = 'token=a&token=b';

  it('of ws with a repeated parameter has none', async () => {
    const { url } = await startGateways('express', 'ws', [Tokens]);
    const { data } = await (await connect('ws', url, { query })).request('token');
    expect(data).toMatchObject({ code: 'BAD_REQUEST' });
  });

  it('of socket.io with a repeated parameter has none', async () => {
    const { url } = await startGateways('express', 'socket.io', [Tokens]);
    // its own client would merge them
    const path = `socket.io/?EIO=4&transport=websocket&${query}`;
    const socket = new WebSocket(`${url.replace('http', 'ws')}/${path}`);
    const received: string[] = [];
    socket.on('message', (packet: Buffer) => received.push(packet.toString()));
    await until(() => received.length === 1);
    socket.send('40');
    await until(() => received.length === 2);
    socket.send('42["token"]');
    await until(() => received.length === 3);
    expect(received[2]).toContain('"code":"BAD_REQUEST"');
    socket.close();
  });
});

describe('a gateway of ws on its own port', () => {
  it('knows the address, query and headers of its clients with an own server', async () => {
    const port = await freePort();
    @WebSocketGateway(port)
    class Own {
      @WebSocketServer() server: unknown;
      @SubscribeMessage('token')
      @FreqLimit('1m', 1, '{query.token}{headers.x-tenant}')
      token() {
        return reply('token');
      }
      @SubscribeMessage('ip')
      @FreqLimit('1m', 1, '{ip}')
      ip() {
        return reply('ip');
      }
    }
    await startGateways('express', 'ws', [Own], inRedis());
    const arrival = { query: 'token=t', headers: { 'x-tenant': 'acme' } };
    const client = await connect('ws', `http://127.0.0.1:${port}`, arrival);
    expect(await client.requestTimes(2, 'token')).toEqual([reply('token'), denied()]);
    expect(await client.requestTimes(2, 'ip')).toEqual([reply('ip'), denied()]);
    const keys = await keysOf(suite.client, suite.namespace);
    expect(keys.map((key) => key.slice(key.indexOf('60000:') + 6)).sort()).toEqual(['127.0.0.1', 't|acme']);
  });

  it('knows only the address of its clients without an own server', async () => {
    const port = await freePort();
    @WebSocketGateway(port)
    class Own {
      @SubscribeMessage('ip')
      @FreqLimit('1m', 1, '{ip}')
      ip() {
        return reply('ip');
      }
      @SubscribeMessage('token')
      @FreqLimit({ window: '1m', limit: 1, key: '{query.token}', onMissingKey: 'deny' })
      token() {
        return reply('token');
      }
    }
    await startGateways('fastify', 'ws', [Own], inRedis());
    const client = await connect('ws', `http://127.0.0.1:${port}`, { query: 'token=t' });
    expect(await client.requestTimes(2, 'ip')).toEqual([reply('ip'), denied()]);
    expect((await client.request('token')).data).toMatchObject({ code: 'BAD_REQUEST' });
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:127\.0\.0\.1$/);
  });
});

describe.each(PLATFORMS)('a client on a unix socket, %s', (platform) => {
  it('shares a counter with other clients without an address, and not with a client that has one', async () => {
    const { app, url } = await startGateways(platform, 'ws', [Addresses], inRedis());
    const dir = await mkdtemp(join(tmpdir(), 'freq-limit-'));
    const path = join(dir, 'ws.sock');
    const local = createServer();
    for (const listener of (app.getHttpServer() as Server).listeners('upgrade')) {
      local.on('upgrade', listener as () => void);
    }
    local.listen(path);
    await once(local, 'listening');
    const received: unknown[] = [];
    for (const message of [1, 2]) {
      const socket = new WebSocket(`ws+unix:${path}:/`);
      await once(socket, 'open');
      socket.send(JSON.stringify({ event: 'ip', data: { message } }));
      const [answer] = (await once(socket, 'message')) as [Buffer];
      received.push(JSON.parse(answer.toString()));
      socket.close();
    }
    expect(received).toEqual([reply('ip'), denied()]);
    expect(await (await connect('ws', url)).request('ip', {})).toEqual(reply('ip'));
    const keys = (await keysOf(suite.client, suite.namespace)).map((key) => key.split(':').at(-1));
    expect(keys.sort()).toEqual(['!no-address', '127.0.0.1']);
    expect(warnings).toEqual([logLine('FREQ_LIMIT_NO_ADDRESS', 'A request has no IP address')]);
    local.close();
    await rm(dir, { recursive: true });
  });
});

describe('socket.io', () => {
  it('is counted by the handshake, with and without polling', async () => {
    const { url } = await startGateways('express', 'socket.io', [Tokens, Addresses]);
    for (const transports of [['polling'], ['polling', 'websocket']]) {
      const socket = io(url, { transports, forceNew: true, query: { token: transports.join() } });
      const received: string[] = [];
      socket.onAny((event: string) => received.push(event));
      await new Promise((resolve) => socket.once('connect', () => resolve(undefined)));
      socket.emit('token', {});
      socket.emit('token', {});
      await until(() => received.length === 2);
      expect(received).toEqual(['reply', 'exception']);
      socket.disconnect();
    }
  });
});

describe('the examples', () => {
  it('use the address from a proxy on Fastify', async () => {
    const { url } = await startGateways('fastify', 'socket.io', [Addresses], {
      ...inRedis(),
      contextAdapters: { ws: BEHIND_ONE_PROXY },
    });
    const client = await connect('socket.io', url, {
      headers: { 'x-forwarded-for': '6.6.6.6, 198.51.100.9' },
    });
    expect(await client.request('ip', {})).toEqual(reply('ip'));
    expect((await keysOf(suite.client, suite.namespace))[0]).toMatch(/:198\.51\.100\.9$/);
  });
});
