import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A TCP connection on which nothing is lost and nothing overtakes, but all may be late. */
export interface Wire {
  readonly port: number;
  /** How many connections have ended. */
  readonly endings: number;
  /** Milliseconds by which every piece of an answer is late. */
  delayMs: number;
  /** Passes half of the next piece on, and ends the connection. */
  cutNext(side: 'question' | 'answer'): void;
  /** Keeps what comes from either side, as a network whose lost packets will be sent again. */
  hold(): void;
  /** Lets go what was kept, in its order. */
  release(): void;
  stop(): Promise<void>;
}

export async function startWire(target: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let released = Promise.resolve();
  let release = (): void => undefined;
  let endings = 0;
  let cut: 'question' | 'answer' | undefined;
  const server = createServer((inside) => {
    const outside = connect(target, '127.0.0.1');
    inside.on('close', () => endings++);
    for (const socket of [inside, outside]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    carry(inside, outside, 'question');
    carry(outside, inside, 'answer');
  });
  const carry = (from: Socket, to: Socket, side: 'question' | 'answer'): void => {
    let last = Promise.resolve();
    from.on('data', (chunk) => {
      const dueMs = performance.now() + (side === 'answer' ? wire.delayMs : 0);
      last = last.then(async () => {
        await released;
        const leftMs = dueMs - performance.now();
        if (leftMs > 0) await sleep(leftMs);
        if (!to.writable) return;
        if (cut !== side) {
          to.write(chunk);
          return;
        }
        cut = undefined;
        to.end(chunk.subarray(0, chunk.length / 2));
        from.destroy();
      });
    });
    // what is on its way arrives, though nobody waits for the answer any more
    from.on('close', () => void last.then(() => released).then(() => to.destroySoon()));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const wire: Wire = {
    port,
    get endings() {
      return endings;
    },
    delayMs: 0,
    cutNext: (side) => {
      cut = side;
    },
    hold: () => {
      released = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => {
      release();
    },
    stop: async () => {
      release();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return wire;
}
