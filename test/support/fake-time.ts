import type { Redis } from 'ioredis';
import { consumeMixedLua } from '../../src/store/redis/lua.generated.js';
import { type Answer, decode, encode, type MixedRequest } from './mixed-script.js';

/**
 * Goes before a script, and gives it a clock that the test sets: the commands that know the time are replaced. Keys of the
 * server do not expire; a hash has the times when they would. The last two arguments of the call are the time and that hash.
 */
const FAKE_TIME = `
local real, all_ends, now = redis, table.remove(ARGV), tonumber(table.remove(ARGV))
-- as on Redis 7, where the end of a key can be read exactly
local redis = { REDIS_VERSION_NUM = 0 }
local function end_of(key)
  local text = real.call('HGET', all_ends, key)
  return text and tonumber(text)
end
local function set_end(key, ends)
  if not (ends > now) then
    error('an expiry of ' .. (ends - now) .. ' ms')
  end
  real.call('HSET', all_ends, key, string.format('%.0f', ends))
  return 1
end
local fake = {}
function fake.TIME()
  return { string.format('%.0f', math.floor(now / 1000)), tostring(now % 1000 * 1000) }
end
-- An expired key is hidden, not deleted: it is there again if the clock is set back.
function fake.GET(key)
  local ends = end_of(key)
  return not (ends and now > ends) and real.pcall('GET', key)
end
function fake.PTTL(key)
  return fake.GET(key) and (end_of(key) or now - 1) - now or -2
end
function fake.PEXPIRETIME(key)
  return fake.GET(key) and end_of(key) or -2
end
function fake.PEXPIRE(key, ms)
  return set_end(key, now + tonumber(ms))
end
function fake.PEXPIREAT(key, ends)
  return set_end(key, tonumber(ends))
end
function fake.SET(key, value, px, ms)
  if px ~= 'PX' or tonumber(ms) % 1 ~= 0 then
    error('SET without an expiry')
  end
  set_end(key, now + tonumber(ms))
  return real.call('SET', key, value)
end
function fake.DEL(key)
  real.call('HDEL', all_ends, key)
  return real.call('DEL', key)
end
local function caller(real_call)
  return function(command, ...)
    if fake[command] then
      return fake[command](...)
    end
    return real_call(command, ...)
  end
end
redis.call, redis.pcall = caller(real.call), caller(real.pcall)
`;

/**
 * A script that is sent whole at each call, so that it runs by a fake time. It has no comments and no indentation, which a server
 * would need more time for than for the script itself.
 */
export function withFakeClock(script: string, before = ''): string {
  return (before + FAKE_TIME + script).replace(/^\s*--.*\n/gm, '').replace(/^\s+/gm, '');
}

/** The script on a server, at times that the test chooses. */
export class FakeTimeScript {
  nowMs = 1_760_000_000_000;
  private readonly script: string;

  constructor(
    private readonly client: Redis,
    private readonly endsKey: string,
    script = consumeMixedLua,
  ) {
    this.script = withFakeClock(script);
  }

  async call(requests: readonly MixedRequest[], mustRead = false): Promise<Answer[]> {
    const { keys, arg } = encode(requests, mustRead);
    const args = [...keys, arg, String(this.nowMs), this.endsKey];
    const reply = await this.client.callBuffer('eval', this.script, keys.length, ...args);
    return decode(requests, keys, reply as Buffer);
  }

  /** Expiries by key, by this clock. */
  async ends(): Promise<Record<string, number>> {
    const ends = await this.client.hgetall(this.endsKey);
    return Object.fromEntries(Object.entries(ends).map(([key, text]) => [key, Number(text)]));
  }
}
