import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** A server that connects like Redis, and answers scripts as a test defines it. */
export interface OddServer {
  readonly url: string;
  /** The number of scripts that clients sent. */
  readonly scripts: number;
  stop(): Promise<void>;
}

const INFO = '# Server\r\nredis_version:7.0.15\r\nloading:0\r\n';
const HANDSHAKE: Readonly<Record<string, string>> = {
  INFO: `$${INFO.length}\r\n${INFO}\r\n`,
  HELLO: "-ERR unknown command 'HELLO'\r\n",
};

export async function startOddServer(onScript: (socket: Socket) => void): Promise<OddServer> {
  const sockets = new Set<Socket>();
  let scripts = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      for (const [, name = ''] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        if (!/^eval/i.test(name)) {
          socket.write(HANDSHAKE[name.toUpperCase()] ?? '+OK\r\n');
          continue;
        }
        scripts++;
        onScript(socket);
        return;
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `redis://127.0.0.1:${port}`,
    get scripts() {
      return scripts;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
