import { createHash } from 'node:crypto';
import type { RedisClient } from '../../../../src/store/redis/redis-option.js';
import { Script } from '../../../../src/store/redis/script.js';

const SOURCE = 'return 1';
const SHA1 = createHash('sha1').update(SOURCE).digest('hex');

/** A client that notes what it is asked, and fails as told. */
function clientOf(failures: { evalsha?: unknown; eval?: unknown }): {
  client: RedisClient;
  asked: unknown[][];
} {
  const asked: unknown[][] = [];
  const answer =
    (name: 'evalsha' | 'eval') =>
    async (...args: unknown[]) => {
      asked.push([name, ...args]);
      if (name in failures) throw failures[name];
      return `by ${name}`;
    };
  const client = { status: 'ready', isCluster: false, evalsha: answer('evalsha'), eval: answer('eval') };
  return { client: { ...client, del: async () => 0 }, asked };
}

describe('Script', () => {
  it('runs by its SHA-1', async () => {
    const { client, asked } = clientOf({});
    await expect(new Script(SOURCE).run(client, ['k1', 'k2'], ['1', '2'])).resolves.toBe('by evalsha');
    expect(asked).toEqual([['evalsha', SHA1, 2, 'k1', 'k2', '1', '2']]);
  });

  it('goes again as a whole, once, to a server that does not know it', async () => {
    const { client, asked } = clientOf({
      evalsha: new Error('NOSCRIPT No matching script. Please use EVAL.'),
    });
    await expect(new Script(SOURCE).run(client, ['k'], ['1'])).resolves.toBe('by eval');
    expect(asked).toEqual([
      ['evalsha', SHA1, 1, 'k', '1'],
      ['eval', SOURCE, 1, 'k', '1'],
    ]);
  });

  it.each([
    ['a time-out', new Error('Command timed out')],
    ['a lost connection', new Error('Connection is closed.')],
    ['a script that failed', new Error('ERR Error running script: NOSCRIPT')],
    ['a server that loads', new Error('LOADING Redis is loading the dataset in memory')],
    ['no permission', new Error('NOPERM this user has no permissions')],
    ['what is no error', 'NOSCRIPT'],
  ])('does not go again after %s: it may have counted', async (_, failure) => {
    const { client, asked } = clientOf({ evalsha: failure });
    await expect(new Script(SOURCE).run(client, ['k'], ['1'])).rejects.toBe(failure);
    expect(asked).toHaveLength(1);
  });

  it('fails as the second question fails', async () => {
    const failure = new Error('NOSCRIPT again');
    const { client, asked } = clientOf({ evalsha: new Error('NOSCRIPT'), eval: failure });
    await expect(new Script(SOURCE).run(client, ['k'], ['1'])).rejects.toBe(failure);
    expect(asked).toHaveLength(2);
  });

  describe('on a Cluster that pools the calls of one turn', () => {
    function poolingCluster(...answers: [Error | null, unknown][]): {
      client: RedisClient;
      asked: unknown[][];
    } {
      const { client, asked } = clientOf({});
      const pipeline: RedisClient['pipeline'] = (commands) => {
        asked.push(...commands);
        return { exec: () => Promise.resolve([answers.shift() ?? [null, 'none']]) };
      };
      return {
        client: { ...client, isCluster: true, options: { enableAutoPipelining: true }, pipeline },
        asked,
      };
    }

    it('runs in a pipeline of its own', async () => {
      const { client, asked } = poolingCluster([null, 'answer']);
      await expect(new Script(SOURCE).run(client, ['k'], ['1'])).resolves.toBe('answer');
      expect(asked).toEqual([['evalsha', SHA1, 1, 'k', '1']]);
    });

    it('goes again as a whole to a server that does not know it, and fails as that does', async () => {
      const noScript = new Error('NOSCRIPT No matching script.');
      const { client, asked } = poolingCluster([noScript, undefined], [new Error('OOM'), undefined]);
      await expect(new Script(SOURCE).run(client, ['k'], ['1'])).rejects.toThrow('OOM');
      expect(asked.map(([name]) => name)).toEqual(['evalsha', 'eval']);
    });
  });
});
