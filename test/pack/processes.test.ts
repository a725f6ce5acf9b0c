import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FreqLimitCheck } from 'nestjs-freq-limit';
import { keysOf, plainClient, redisUrl, sweep, uniqueNamespace } from '../support/redis.ts';

const VISITOR = fileURLToPath(new URL('processes/visitor.mjs', import.meta.url));
const PROCESSES = 4;
const TURNS = 25;
const VISITS_PER_TURN = 40;
const ASKED = PROCESSES * TURNS * VISITS_PER_TURN;

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

  /** Lets all processes ask at the same time, as often as they can. */
  async function race(checks: readonly FreqLimitCheck[]): Promise<Answer[]> {
    const args = [redisUrl(), namespace, TURNS, VISITS_PER_TURN, checks].map((part) => JSON.stringify(part));
    const visitors = Array.from({ length: PROCESSES }, () => fork(VISITOR, args));
    await Promise.all(visitors.map((visitor) => nextMessage(visitor)));
    const answers = visitors.map((visitor) => nextMessage(visitor));
    const exits = visitors.map((visitor) => once(visitor, 'exit'));
    for (const visitor of visitors) visitor.send('go');
    const all = (await Promise.all(answers)).flat() as Answer[];
    expect(await Promise.all(exits)).toEqual(visitors.map(() => [0, null]));
    return all;
  }

  async function unitsOf(name: string): Promise<number> {
    const [key = ''] = (await keysOf(client, namespace)).filter((one) => one.includes(`.${name}~`));
    return Number(await client.get(key));
  }

  it('let pass what one limit allows, together and to the unit', async () => {
    const answers = await race([
      { name: 'wide', key: 'x', window: '1h', limit: 1_000_000 },
      { name: 'tight', key: 'x', window: '1h', limit: 1_234 },
      { name: 'middle', key: 'x', window: '1d', limit: 2_000 },
    ]);
    expect(answers).toHaveLength(ASKED);
    const allowed = answers.filter(([passes]) => passes);
    expect(allowed).toHaveLength(1_234);
    // each of them was another one on every counter, and the denied have left no trace on any
    for (const [i, name] of ['wide', 'tight', 'middle'].entries()) {
      const numbers = allowed.map(([, used]) => used[i]!).sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: 1_234 }, (_, n) => n + 1));
      expect(await unitsOf(name)).toBe(1_234);
    }
  });

  it('count every visit once where nothing is denied', async () => {
    const answers = await race([{ name: 'all', key: 'x', window: '1h', limit: ASKED, cost: 1 }]);
    expect(new Set(answers.map(([, [used]]) => used)).size).toBe(ASKED);
    expect(await unitsOf('all')).toBe(ASKED);
  });
});

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`a visitor ended with ${String(code)} before it answered`);
  });
  gone.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), gone])) as [unknown];
  return message;
}
