import { type Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../../src/store/redis/redis-option.js';
import { Script } from '../../src/store/redis/script.js';
import { withFakeClock } from './fake-time.js';

/** A time that only a test moves, in milliseconds since 1970. */
export interface FakeClock {
  nowMs: number;
}

// Commands that know nothing of time, such as INCR, must not see an expired key.
const FORGET_EXPIRED = `
local ends_at, at = ARGV[#ARGV], tonumber(ARGV[#ARGV - 1])
for _, key in ipairs(KEYS) do
  for _, name in ipairs({ key, key .. '!offences' }) do
    local ends = redis.call('HGET', ends_at, name)
    if ends and at > tonumber(ends) then
      redis.call('DEL', name)
      redis.call('HDEL', ends_at, name)
    end
  end
end
`;

/** The hash with the expiries of the keys of a namespace by a fake clock, in the slot of this key. No counter has such a key. */
export function endsKey(key: string): string {
  return `ends-of-${/^.*?}/.exec(key)?.[0] ?? key.split(':')[0]}`;
}

type Scripts = Required<Pick<RedisClient, 'evalshaBuffer' | 'evalBuffer'>>;

/** Makes a client run the scripts of a store by a fake clock. */
export function withFakeTime<C extends Redis | Cluster>(client: C, clock: FakeClock): C {
  const fake = client as unknown as Scripts;
  const scripts: RedisClient = {
    status: 'ready',
    isCluster: client.isCluster,
    evalshaBuffer: fake.evalshaBuffer.bind(client),
    evalBuffer: fake.evalBuffer.bind(client),
    del: (...keys) => client.del(...keys),
  };
  const patched = new Map<string, Script>();
  // the store sends the text of a script that the server does not have
  fake.evalshaBuffer = () => Promise.reject(new Error('NOSCRIPT'));
  fake.evalBuffer = (source, count, ...args) => {
    const script = patched.get(source) ?? new Script(withFakeClock(source, FORGET_EXPIRED));
    patched.set(source, script);
    const keys = args.slice(0, count);
    const time = [String(clock.nowMs), endsKey(keys[0] ?? '')];
    // whole each time: the calls of a turn must come in their order, also the first ones
    return script.runWhole(scripts, keys, [...args.slice(count), ...time]);
  };
  return client;
}
