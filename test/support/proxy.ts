import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of a server, for network faults. */
export interface Proxy {
  readonly port: number;
  readonly url: string;
  /** The delay of every piece of an answer, in milliseconds. */
  delayMs: number;
  /** Drops the data of both sides, like a network that drops packets. */
  isDropping: boolean;
  /** Delivers the next command, and closes the connection instead of its reply. */
  loseNextReply(): void;
  /** Resets all connections. */
  reset(): void;
  /** Refuses new connections, or accepts them again. */
  refuse(refuses: boolean): void;
  stop(): Promise<void>;
}

export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let losesReply = false;
  let refuses = false;
  const server = createServer((inside) => {
    if (refuses) {
      inside.resetAndDestroy();
      return;
    }
    const outside = connect(target, '127.0.0.1');
    for (const socket of [inside, outside]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        inside.destroy();
        outside.destroy();
      });
    }
    inside.on('data', (chunk) => {
      if (!proxy.isDropping) outside.write(chunk);
    });
    outside.on('data', (chunk) => {
      if (proxy.isDropping) return;
      if (losesReply) {
        losesReply = false;
        inside.resetAndDestroy();
        return;
      }
      if (proxy.delayMs === 0) inside.write(chunk);
      else
        setTimeout(() => {
          if (!inside.destroyed) inside.write(chunk);
        }, proxy.delayMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const proxy: Proxy = {
    port,
    url: `redis://127.0.0.1:${port}`,
    delayMs: 0,
    isDropping: false,
    loseNextReply: () => {
      losesReply = true;
    },
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    refuse: (should) => {
      refuses = should;
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
