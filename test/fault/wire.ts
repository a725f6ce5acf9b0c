import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A TCP connection that delivers everything in order, but maybe late. */
export interface Wire {
  readonly port: number;
  /** How many connections have ended. */
  readonly endings: number;
  /** The longest time in milliseconds for which a question had no answer, without the delay. */
  readonly slowestMs: number;
  /** The delay of every piece of an answer, in milliseconds. */
  delayMs: number;
  /** Delivers half of the next piece, and closes the connection. */
  cutNext(side: 'question' | 'answer'): void;
  /** Keeps the data of both sides, like a network that will resend lost packets. */
  pause(): void;
  /** Delivers the kept data, in order. */
  release(): void;
  stop(): Promise<void>;
}

export async function startWire(target: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let released = Promise.resolve();
  let release = (): void => undefined;
  let endings = 0;
  let slowestMs = 0;
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
    let askedAtMs = 0;
    inside.on('data', () => (askedAtMs ||= performance.now()));
    outside.on('data', () => {
      if (askedAtMs > 0) slowestMs = Math.max(slowestMs, performance.now() - askedAtMs);
      askedAtMs = 0;
    });
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
    // data on its way arrives, even if no request waits for the answer
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
    get slowestMs() {
      return slowestMs;
    },
    delayMs: 0,
    cutNext: (side) => {
      cut = side;
    },
    pause: () => {
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
