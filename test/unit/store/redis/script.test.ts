import { createHash } from 'node:crypto';
import type { RedisClient } from '../../../../src/store/redis/redis-option.js';
import { Script } from '../../../../src/store/redis/script.js';

const SOURCE = 'return 1';
const SHA1 = createHash('sha1').update(SOURCE).digest('hex');

/** A client that notes its calls, and fails as given. */
function clientOf(failures: { evalshaBuffer?: unknown; evalBuffer?: unknown }): {
  client: RedisClient;
  calls: unknown[][];
} {
  const calls: unknown[][] = [];
  const answer =
    (name: 'evalshaBuffer' | 'evalBuffer') =>
    async (...args: unknown[]) => {
      calls.push([name, ...args]);
      if (name in failures) throw failures[name];
      return `by ${name}`;
    };
  const client = {
    status: 'ready',
    isCluster: false,
    evalshaBuffer: answer('evalshaBuffer'),
    evalBuffer: answer('evalBuffer'),
  };
  return { client: { ...client, del: async () => 0 }, calls };
}

describe('Script', () => {
  it('runs by its SHA-1', async () => {
    const { client, calls } = clientOf({});
    await expect(new Script(SOURCE).run(client, ['k1', 'k2'], ['1', '2'])).resolves.toBe('by evalshaBuffer');
    expect(calls).toEqual([['evalshaBuffer', SHA1, 2, 'k1', 'k2', '1', '2']]);
  });

  it('sends the whole script, once, to a server that does not have it', async () => {
    const { client, calls } = clientOf({
      evalshaBuffer: new Error('NOSCRIPT No matching script. Please use EVAL.'),
    });
    await expect(new Script(SOURCE).run(client, ['k'], ['1'])).resolves.toBe('by evalBuffer');
    expect(calls).toEqual([
      ['evalshaBuffer', SHA1, 1, 'k', '1'],
      ['evalBuffer', SOURCE, 1, 'k', '1'],
    ]);
  });

  it.each([
    ['a time-out', new Error('Command timed out')],
    ['a lost connection', new Error('Connection is closed.')],
    ['a script that failed', new Error('ERR Error running script: NOSCRIPT')],
    ['a server that loads', new Error('LOADING Redis is loading the dataset in memory')],
    ['no permission', new Error('NOPERM this user has no permissions')],
    ['a string that was thrown', 'NOSCRIPT'],
  ])('sends nothing again after %s: the script may have counted', async (_, failure) => {
    const { client, calls } = clientOf({ evalshaBuffer: failure });
    await expect(new Script(SOURCE).run(client, ['k'], ['1'])).rejects.toBe(failure);
    expect(calls).toHaveLength(1);
  });

  it('fails with the error of the second call', async () => {
    const failure = new Error('NOSCRIPT again');
    const { client, calls } = clientOf({ evalshaBuffer: new Error('NOSCRIPT'), evalBuffer: failure });
    await expect(new Script(SOURCE).run(client, ['k'], ['1'])).rejects.toBe(failure);
    expect(calls).toHaveLength(2);
  });

  describe('on a Cluster with enableAutoPipelining', () => {
    function poolingCluster(...answers: [Error | null, unknown][]): {
      client: RedisClient;
      calls: unknown[][];
    } {
      const { client, calls } = clientOf({});
      const pipeline: RedisClient['pipeline'] = (commands) => {
        calls.push(...commands);
        return { exec: () => Promise.resolve([answers.shift() ?? [null, 'none']]) };
      };
      return {
        client: { ...client, isCluster: true, options: { enableAutoPipelining: true }, pipeline },
        calls,
      };
    }

    it('runs in a pipeline of its own', async () => {
      const { client, calls } = poolingCluster([null, 'answer']);
      await expect(new Script(SOURCE).run(client, ['k'], ['1'])).resolves.toBe('answer');
      expect(calls).toEqual([['evalshaBuffer', SHA1, 1, 'k', '1']]);
    });

    it('sends the whole script to a server that does not have it, and fails with its error', async () => {
      const noScript = new Error('NOSCRIPT No matching script.');
      const { client, calls } = poolingCluster([noScript, undefined], [new Error('OOM'), undefined]);
      await expect(new Script(SOURCE).run(client, ['k'], ['1'])).rejects.toThrow('OOM');
      expect(calls.map(([name]) => name)).toEqual(['evalshaBuffer', 'evalBuffer']);
    });
  });
});
