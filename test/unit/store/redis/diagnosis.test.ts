import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { diagnose } from '../../../../src/store/redis/diagnosis.js';
import type { Endpoint } from '../../../../src/store/redis/endpoints.js';
import { freePort, UNKNOWN_HOST } from '../../../support/server.js';
import { startTlsPort } from '../../../support/tls.js';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    server.close();
    await once(server, 'close');
  }
});

/** A port that does this with each chunk that it gets. */
async function portThat(onData: (socket: Socket, chunk: Buffer) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      onData(socket, chunk);
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

const endpoint = (port: number, usesTls = false): Endpoint => ({
  host: '127.0.0.1',
  port,
  family: 0,
  usesTls,
});

async function found(...endpoints: Endpoint[]): Promise<string | undefined> {
  return (await diagnose(endpoints))?.message;
}

describe('the diagnosis of a connection', () => {
  it('finds a refused connection, a host that does not exist and a missing unix socket', async () => {
    expect(await found(endpoint(await freePort()))).toContain('ECONNREFUSED');
    expect(await found({ ...endpoint(1), host: UNKNOWN_HOST })).toContain('ENOTFOUND');
    expect(await found({ ...endpoint(1), path: '/tmp/no-such-freq-limit.sock' })).toContain('ENOENT');
  });

  it.each([['+PONG\r\n'], ['-NOAUTH Authentication required.\r\n']])(
    'finds that a port does not use TLS by %j',
    async (answer) => {
      const port = await portThat((socket, chunk) => {
        if (chunk.toString() === 'PING\r\n') socket.write(answer);
      });
      expect(await found(endpoint(port, true))).toBe('the port does not use TLS');
    },
  );

  it('finds that a port expects TLS', async () => {
    const tls = await startTlsPort(await freePort());
    try {
      expect(await found(endpoint(tls.port))).toBe('the port expects TLS');
    } finally {
      await tls.stop();
    }
  });

  it('finds that a port expects TLS by an alert', async () => {
    // fatal: handshake failure
    const port = await portThat((socket) => void socket.write(Buffer.from([21, 3, 3, 0, 2, 2, 40])));
    expect(await found(endpoint(port))).toBe('the port expects TLS');
  });

  it.each<[string, boolean, (socket: Socket) => void]>([
    ['is silent, without TLS', false, () => undefined],
    ['is silent, with TLS', true, () => undefined],
    ['closes the connection', false, (socket) => void socket.destroy()],
    ['resets the connection', true, (socket) => void socket.resetAndDestroy()],
    ['answers as Redis', false, (socket) => void socket.write('-ERR Protocol error\r\n')],
    ['answers in another protocol', true, (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('finds nothing if the server %s', async (_, usesTls, onData) => {
    expect(await found(endpoint(await portThat(onData), usesTls))).toBeUndefined();
  });

  it('returns the first error of several endpoints, and nothing for none', async () => {
    const silent = endpoint(await portThat(() => undefined));
    expect(await found(silent, endpoint(await freePort()))).toContain('ECONNREFUSED');
    expect(await found()).toBeUndefined();
  });
});
