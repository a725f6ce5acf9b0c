-- refund.lua: gives back what visits have charged that are not to count after all.
--
-- KEYS[k]    the counters; one may stand there several times
-- ARGV       three numbers for each of KEYS:
--              window       milliseconds, the length of the window that was charged
--              ends         the server's clock, in milliseconds, at the end of that window
--              cost         units to give back
-- Reply      two numbers for each of KEYS, after it was seen to:
--              used         units charged in the open window, 0 where there is no counter
--              left         milliseconds until it ends, 0 where none is open
--
-- Promises   * Only the window that was charged is touched: the key's end tells it from every later one.
--            * No counter is made, none falls below 0 or is left with nothing, and no expiry moves.
-- Cluster    all KEYS of a call lie in one slot.

local call, pcall = redis.call, redis.pcall

-- Clock and expiry are read one after the other, and each is cut to a millisecond.
local SLACK = 2

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local reply = {}
for k, key in ipairs(KEYS) do
  local window, ends, cost = tonumber(ARGV[3 * k - 2]), tonumber(ARGV[3 * k - 1]), tonumber(ARGV[3 * k])
  local value = pcall('GET', key)
  local used = type(value) == 'string' and #value < 20 and value:find('^[1-9]%d*$') and tonumber(value) or 0
  local left = used > 0 and call('PTTL', key) or 0
  if used > 0 and left >= 0 then
    local off = math.abs(now + left - ends)
    if off <= SLACK and 2 * off < window then
      if used <= cost then
        call('DEL', key)
        used, left = 0, 0
      else
        used = call('DECRBY', key, ARGV[3 * k])
      end
    end
  end
  reply[2 * k - 1] = string.format('%.0f', used)
  reply[2 * k] = left > 0 and left or 0
end

return reply
