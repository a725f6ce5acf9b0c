// Sends requests at a fixed rate, from a process of its own. The loop is open: a slow response delays no later request, and
// the time that a request waits for the sender or for a free connection is part of its latency.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SENDER = fileURLToPath(new URL('sender.mjs', import.meta.url));

export class OpenLoop {
  static start() {
    return new OpenLoop(fork(SENDER));
  }

  constructor(child) {
    this.child = child;
    this.ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the process that sends ended with ${code}`);
    });
    this.ended.catch(() => undefined);
  }

  /**
   * @param {{ port: number, perSecond: number, seconds: number, seed: number }} load the seed chooses the times
   * @returns {Promise<{ requests: number, p50: number, p99: number, denied: number, lateMs: number }>} latencies in ms, and
   * how late the sender itself was (p99)
   */
  run(load) {
    return this.ask(load);
  }

  /** Sends requests as fast as they are answered. @returns requests per second */
  async rush(port, requests) {
    const { perSecond } = await this.ask({ port, requests });
    return perSecond;
  }

  async ask(load) {
    const answered = once(this.child, 'message');
    this.child.send(load);
    const [{ error, ...result }] = await Promise.race([answered, this.ended]);
    if (error !== undefined) throw new Error(error);
    return result;
  }

  stop() {
    this.child.disconnect();
  }
}
