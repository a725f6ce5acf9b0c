import { readFileSync } from 'node:fs';
import {
  checkLua,
  consumeLua,
  consumeMixedLua,
  renewLua,
  settleLua,
} from '../../src/store/redis/lua.generated.js';
import { keysOf } from '../support/redis.js';
import { redisSuite } from '../support/redis-suite.js';

describe('lua/check.lua', () => {
  const suite = redisSuite();

  const commandsIn = (script: string, pattern: RegExp): string[] =>
    [...new Set([...script.matchAll(pattern)].map(([, name = '']) => name))].sort();

  it('is embedded in the package', () => {
    expect(checkLua).toBe(readFileSync(new URL('../../lua/check.lua', import.meta.url), 'utf8'));
  });

  it('runs every command of the other scripts', () => {
    const needed = commandsIn(consumeLua + consumeMixedLua + settleLua + renewLua, /\bp?call\('([A-Z]+)'/g);
    expect(needed.length).toBeGreaterThan(5);
    expect(commandsIn(checkLua, /\{ '([A-Z]+)'/g)).toEqual(needed);
  });

  it('leaves no key', async () => {
    expect(await suite.client.eval(checkLua, 1, `${suite.namespace}:{0}:probe:1000:`)).toBe(1);
    expect(await keysOf(suite.client, suite.namespace)).toEqual([]);
  });

  it('replaces a key of its own, whatever its type is', async () => {
    const key = `${suite.namespace}:{0}:probe:1000:`;
    await suite.client.lpush(key, 'x');
    expect(await suite.client.eval(checkLua, 1, key)).toBe(1);
    expect(await suite.client.exists(key)).toBe(0);
  });

  it.each([
    'SET',
    'INCR',
    'INCRBY',
    'DECRBY',
    'GET',
    'PTTL',
    'PEXPIRE',
    'PEXPIREAT',
    'SETRANGE',
    'TIME',
    'DEL',
    'ZADD',
    'ZCOUNT',
    'ZRANGEBYSCORE',
    'ZREM',
    'ZREMRANGEBYSCORE',
  ])('names %s if the user may not run it', async (command) => {
    const user = suite.namespace.replace('-', '');
    await suite.client.acl('SETUSER', user, 'on', '>p', '~*', '+@all', `-${command.toLowerCase()}`);
    const client = suite.client.duplicate({ username: user, password: 'p' });
    try {
      const key = `${suite.namespace}:{0}:probe:1000:`;
      await expect(client.eval(checkLua, 1, key)).rejects.toThrow(` [${command}]`);
      await suite.client.del(key);
    } finally {
      client.disconnect();
      await suite.client.acl('DELUSER', user);
    }
  });
});
