-- consume.lua: decides and charges all the checks of one request in one step, all or none.
--
-- KEYS[i]    the counter of check i, in the order of the checks
-- ARGV[1]    1: charge; 0: only look (peek)
-- ARGV       then four numbers for each check:
--              window       milliseconds; a counter lives this long from the visit that opened it
--              limit        units that pass in a window; -1: no limit, just count
--              cost         units of this visit; 0 looks at the counter without charging it
--              countDenied  1: this visit is charged even when the request is denied
-- Reply      two numbers for each check, same order:
--              used         units charged in the open window after this request
--              left         milliseconds until the window ends, 0 where none is open;
--                           a check that denies answers -left - 1 instead
--            A key that holds no counter (another type, text, too large a number) is Redis' own error with
--            the place of the check behind it; nothing is charged then.
--
-- Stored     key -> the units used, as an integer; the window is the key's own expiry. Only the server's
--            clock counts. A counter of nothing (0 or less, however it came to be) is no counter.
-- Promises   * A request is charged whole or, where a check denies, not at all (countDenied apart):
--              no count, no new key, no moved expiry.
--            * Every counter touched has a time left when the script ends, at most its window, whoever
--              made it, whether the request passes or not. PTTL 0 is a counter in its last millisecond:
--              it is left alone.
--            * No call between an increment and its expiry can fail on what the key holds.
-- Cluster    all KEYS of a call lie in one slot.

local call, pcall = redis.call, redis.pcall
local checks = #KEYS
local charging = ARGV[1] == '1'
local reply = {}
local charged = {}
local any_denied = false

-- The time left of a live counter; one without an expiry, or with more than its window, gets its window.
local function time_left(key, window)
  local left = call('PTTL', key)
  if left < 0 or left > window then
    call('PEXPIRE', key, window)
    return window
  end
  return left
end

-- Adds the cost and answers the units used and the time left. The first visit opens the window.
local function charge(key, window, cost)
  local used = pcall('INCRBY', key, cost)
  if type(used) == 'table' then
    return used
  end
  if used > cost then
    return used, time_left(key, window)
  end
  if used == cost then
    call('PEXPIRE', key, window)
  else
    call('SET', key, cost, 'PX', window)
  end
  return cost, window
end

-- Answers the units used and the time left without charging.
local function look(key, window)
  local value = pcall('GET', key)
  if value == false then
    return 0, 0
  end
  if type(value) == 'table' then
    return value
  end
  local used = value:find('^-?%d+$') and tonumber(value)
  if not used then
    return { err = 'ERR value is not an integer or out of range' }
  end
  local left = time_left(key, window)
  if used <= 0 then
    return 0, 0
  end
  return used, left
end

-- Units as the reply carries them: from 2^52 on as a text, since a client may read a larger integer inexactly.
local function exact(used)
  return used < 4503599627370496 and used or string.format('%.0f', used)
end

-- Gives back what check i charged; a counter that is left with nothing goes.
local function take_back(i)
  local used = call('DECRBY', KEYS[i], charged[i])
  if used <= 0 then
    call('DEL', KEYS[i])
    used = 0
  end
  return used
end

for i = 1, checks do
  local key, at = KEYS[i], 4 * i - 2
  local window, limit, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local charges = charging and cost > 0
  local used, left = (charges and charge or look)(key, window, cost)
  if type(used) == 'table' then
    for j = i - 1, 1, -1 do
      if charged[j] then
        take_back(j)
      end
    end
    return { err = used.err .. ' (check ' .. i .. ' of ' .. checks .. ')' }
  end
  charged[i] = charges and cost
  if limit >= 0 and (charges and used or used + cost) > limit then
    any_denied = true
    left = -left - 1
  end
  reply[2 * i - 1] = exact(used)
  reply[2 * i] = left
end

if any_denied then
  for i = checks, 1, -1 do
    if charged[i] and ARGV[4 * i + 1] ~= '1' then
      local used = take_back(i)
      reply[2 * i - 1] = exact(used)
      if used == 0 then
        reply[2 * i] = reply[2 * i] < 0 and -1 or 0
      end
    end
  end
end

return reply
