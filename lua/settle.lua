-- settle.lua: refunds or charges the difference between what requests were charged and what they really used.
--
-- KEYS[k]    the counters; one may occur several times
-- ARGV       three numbers for each of KEYS:
--              window       milliseconds, the length of the window that was charged
--              ends         the server's clock, in milliseconds, at the end of that window, as consume.lua returned it
--              difference   units to charge, whatever the limit; below 0: units to refund
-- Reply      one string, a MessagePack array with two numbers for each of KEYS, after all differences:
--              used         units charged in the open window, 0 if there is no counter
--              left         milliseconds until it ends, 0 if none is open
--
-- Promises   * Only the window that was charged changes: the key's expiry distinguishes it from later ones.
--            * No counter is created, none falls below 0 or is kept at 0, none rises above 2^53 - 1, and no expiry
--              changes.
-- Cluster    all KEYS of a call are in one slot.

local call, pcall, format = redis.call, redis.pcall, string.format

-- Servers before Redis 7 may be configured to replicate the script itself; they would refuse writes after TIME.
if not redis.REDIS_VERSION_NUM then
  redis.replicate_commands()
end

-- Counters stop here: up to this number they are exact.
local MAX = 9007199254740991

-- The distance in milliseconds between a counter's end and the expected one. Before Redis 7 it cannot be read exactly:
-- the clock and the expiry are read one after the other. So up to 50 ms count as equal.
local function distance(key, left, window, ends)
  if redis.REDIS_VERSION_NUM then
    return math.abs(call('PEXPIRETIME', key) - ends)
  end
  local time = call('TIME')
  local ms = math.abs(time[1] * 1000 + math.floor(time[2] / 1000) + left - ends)
  return ms <= 50 and 2 * ms < window and 0 or ms
end

-- If a counter occurs several times, each occurrence has the result after the last.
local used, left = {}, {}

local function settle(key, window, ends, difference)
  local value = pcall('GET', key)
  -- a block of consume-mixed.lua has 19 digits
  used[key] = type(value) == 'string' and #value < 19 and value:find('^[1-9]%d*$') and tonumber(value) or 0
  local time_left = used[key] > 0 and call('PTTL', key) or -2
  left[key] = math.max(time_left, 0)
  if time_left < 0 or difference == 0 or distance(key, time_left, window, ends) > 0 then
    return
  end
  difference = math.min(difference, math.max(MAX - used[key], 0))
  if used[key] + difference > 0 then
    used[key] = call('INCRBY', key, format('%.0f', difference))
  else
    call('DEL', key)
    used[key], left[key] = 0, 0
  end
end

for k, key in ipairs(KEYS) do
  settle(key, tonumber(ARGV[3 * k - 2]), tonumber(ARGV[3 * k - 1]), tonumber(ARGV[3 * k]))
end

local reply = {}
for k, key in ipairs(KEYS) do
  reply[2 * k - 1] = used[key]
  reply[2 * k] = left[key]
end

return cmsgpack.pack(reply)
