-- refund.lua: gives back what visits have charged that are not to count after all.
--
-- KEYS[k]    the counters; one may stand there several times
-- ARGV       three numbers for each of KEYS:
--              window       milliseconds, the length of the window that was charged
--              ends         the server's clock, in milliseconds, at the end of that window, as consume.lua told it
--              cost         units to give back
-- Reply      two numbers for each of KEYS, after it was seen to:
--              used         units charged in the open window, 0 where there is no counter
--              left         milliseconds until it ends, 0 where none is open
--
-- Promises   * Only the window that was charged is touched: the key's end tells it from every later one.
--            * No counter is made, none falls below 0 or is left with nothing, and no expiry moves.
-- Cluster    all KEYS of a call lie in one slot.

local call, pcall = redis.call, redis.pcall

-- How far a counter's end is from the one that is meant. Servers before 7 cannot tell it exactly: clock and expiry are
-- read one after the other, and something may come between.
local function off_by(key, left, window, ends)
  if redis.REDIS_VERSION_NUM then
    return math.abs(call('PEXPIRETIME', key) - ends)
  end
  local time = call('TIME')
  local off = math.abs(time[1] * 1000 + math.floor(time[2] / 1000) + left - ends)
  return off <= 50 and 2 * off < window and 0 or off
end

-- Of one counter that stands there several times, all have the answer after the last.
local used, left = {}, {}

local function give_back(key, window, ends, cost)
  local value = pcall('GET', key)
  used[key] = type(value) == 'string' and #value < 20 and value:find('^[1-9]%d*$') and tonumber(value) or 0
  local time_left = used[key] > 0 and call('PTTL', key) or -2
  left[key] = math.max(time_left, 0)
  if time_left < 0 or off_by(key, time_left, window, ends) > 0 then
    return
  end
  if used[key] > tonumber(cost) then
    used[key] = call('DECRBY', key, cost)
  else
    call('DEL', key)
    used[key], left[key] = 0, 0
  end
end

for k, key in ipairs(KEYS) do
  give_back(key, tonumber(ARGV[3 * k - 2]), tonumber(ARGV[3 * k - 1]), ARGV[3 * k])
end

local reply = {}
for k, key in ipairs(KEYS) do
  reply[2 * k - 1] = string.format('%.0f', used[key])
  reply[2 * k] = left[key]
end

return reply
