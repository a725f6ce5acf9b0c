-- renew.lua: renews leases that consume-mixed.lua has taken.
--
-- KEYS[k]    the concurrency counters, each once
-- ARGV[1]    a JSON array: for each of KEYS
--              life         milliseconds, at least 1
--              leases, id ...   how many leases follow, and their ids
-- Reply      one string, a MessagePack array with one value for each lease, in that order: 1 if it was still there,
--            0 if it had lapsed or was released, or Redis' own error as a string if its key is of another type.
--            An error that does not concern a key (READONLY, no permission) fails the call: nothing is renewed.
--
-- Promises   * Each lease has its full life again, also if it was not there: the work that it is for still runs.
--            * No key is without an expiry, and lapsed leases are removed.
--            * A full server (maxmemory) renews all the same: it refuses a script only at its first write, and here
--              that removes lapsed leases.
-- Cluster    all KEYS of a call are in one slot.

local call, pcall = redis.call, redis.pcall

-- Servers before Redis 7 may be configured to replicate the script itself; they would refuse writes after TIME.
if not redis.REDIS_VERSION_NUM then
  redis.replicate_commands()
end

local args = cjson.decode(ARGV[1])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lapsed = string.format('(%d', now)

local reply, at = {}, 1
for _, key in ipairs(KEYS) do
  local ends, first, last = string.format('%d', now + args[at]), at + 2, at + 1 + args[at + 1]
  local removed = pcall('ZREMRANGEBYSCORE', key, '-inf', lapsed)
  local err = type(removed) == 'table' and removed.err
  if err and not err:find('WRONGTYPE', 1, true) then
    return removed
  end
  for i = first, last do
    reply[#reply + 1] = err or 1 - call('ZADD', key, ends, args[i])
  end
  if not err then
    call('PEXPIREAT', key, ends)
  end
  at = last + 1
end

return cmsgpack.pack(reply)
