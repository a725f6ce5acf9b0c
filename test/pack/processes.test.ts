import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FreqLimitCheck } from 'nestjs-freq-limit';
import { keysOf, plainClient, redisUrl, sweep, uniqueNamespace } from '../support/redis.ts';

const SENDER = fileURLToPath(new URL('processes/sender.mjs', import.meta.url));
const PROCESSES = 4;
const TURNS = 25;
const REQUESTS_PER_TURN = 40;
const SENT = PROCESSES * TURNS * REQUESTS_PER_TURN;

type Answer = readonly [allowed: boolean, used: readonly number[]];

describe('several processes on one Redis', () => {
  const client = plainClient();
  let namespace: string;

  beforeEach(() => {
    namespace = uniqueNamespace();
  });
  afterEach(async () => {
    expect(await sweep(client, namespace)).toEqual([]);
  });
  afterAll(() => client.quit());

  /** Lets all processes send requests at the same time, as many as they can. */
  async function race(checks: readonly FreqLimitCheck[]): Promise<Answer[]> {
    const args = [redisUrl(), namespace, TURNS, REQUESTS_PER_TURN, checks].map((part) =>
      JSON.stringify(part),
    );
    const senders = Array.from({ length: PROCESSES }, () => fork(SENDER, args));
    await Promise.all(senders.map((sender) => nextMessage(sender)));
    const answers = senders.map((sender) => nextMessage(sender));
    const exits = senders.map((sender) => once(sender, 'exit'));
    for (const sender of senders) sender.send('go');
    const all = (await Promise.all(answers)).flat() as Answer[];
    expect(await Promise.all(exits)).toEqual(senders.map(() => [0, null]));
    return all;
  }

  async function unitsOf(name: string): Promise<number> {
    const [key = ''] = (await keysOf(client, namespace)).filter((one) => one.includes(`.${name}~`));
    return Number(await client.get(key));
  }

  it('allow together exactly the limit', async () => {
    const answers = await race([
      { name: 'wide', key: 'x', window: '1h', limit: 1_000_000 },
      { name: 'tight', key: 'x', window: '1h', limit: 1_234 },
      { name: 'middle', key: 'x', window: '1d', limit: 2_000 },
    ]);
    expect(answers).toHaveLength(SENT);
    const allowed = answers.filter(([passes]) => passes);
    expect(allowed).toHaveLength(1_234);
    // each allowed request had its own count on every counter, and denied requests left no trace
    for (const [i, name] of ['wide', 'tight', 'middle'].entries()) {
      const numbers = allowed.map(([, used]) => used[i]!).sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: 1_234 }, (_, n) => n + 1));
      expect(await unitsOf(name)).toBe(1_234);
    }
  });

  it('count every request once if none is denied', async () => {
    const answers = await race([{ name: 'all', key: 'x', window: '1h', limit: SENT, cost: 1 }]);
    expect(new Set(answers.map(([, [used]]) => used)).size).toBe(SENT);
    expect(await unitsOf('all')).toBe(SENT);
  });
});

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`a process ended with ${String(code)} before it answered`);
  });
  gone.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), gone])) as [unknown];
  return message;
}
