import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A proxy in front of a server, in its own process, which delays answers. */
export interface SlowProxy {
  readonly url: string;
  /** The number of connections so far. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

export async function startSlowProxy(target: number, delayMs: number): Promise<SlowProxy> {
  const child = fork(new URL('slow-proxy-process.mjs', import.meta.url), [String(target), String(delayMs)]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    url: `redis://127.0.0.1:${port}`,
    connections: async () => {
      const answer = once(child, 'message') as Promise<[{ connections: number }]>;
      child.send('connections');
      return (await answer)[0].connections;
    },
    stop: async () => {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}
