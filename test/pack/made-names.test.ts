import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { keysOf, plainClient, redisUrl, sweep, uniqueNamespace } from '../support/redis.ts';

const PROCESS = fileURLToPath(new URL('processes/mixins.mjs', import.meta.url));

describe('classes with generated names', () => {
  const client = plainClient();
  const namespace = uniqueNamespace();

  afterAll(async () => {
    expect(await sweep(client, namespace)).toEqual([]);
    await client.quit();
  });

  /** Sends a request to each route, in a process that creates the controllers in this order. */
  async function send(...paths: string[]): Promise<unknown> {
    const child = fork(
      PROCESS,
      [redisUrl(), namespace, paths].map((part) => JSON.stringify(part)),
    );
    const exit = once(child, 'exit');
    const [statuses] = (await once(child, 'message')) as [unknown];
    expect(await exit).toEqual([0, null]);
    return statuses;
  }

  it('count on the same counters in each process, and after each restart', async () => {
    const passed = { cats: 200, dogs: 200 };
    expect([await send('cats', 'dogs'), await send('dogs', 'cats'), await send('cats', 'dogs')]).toEqual([
      passed,
      passed,
      passed,
    ]);
    expect(await keysOf(client, namespace)).toHaveLength(2);
    expect(await send('dogs', 'cats')).toEqual({ cats: 429, dogs: 429 });
  });
});
