-- consume.lua: decides and charges the checks of one or more requests in one step, each request all or none.
--
-- KEYS[k]    the counters, each once, however many checks go to it
-- ARGV[1]    the requests in the order they arrived, read only if not all of them pass: numbers, each followed by ",":
--            k, limit, cost for each check (-k, limit, cost for countDenied), and 0 after each request;
--            a leading "@" asks for the ends of the windows
-- ARGV       then four numbers for each run of KEYS that have them in common, in the order of KEYS:
--              window       milliseconds; a counter lives this long from the visit that opened it
--              limit        the lowest limit of the checks on the counter; -1: they all only count
--              cost         the sum of their costs; 0 looks at the counter without charging it; -1: a sum above
--                           2^53 - 1, which cannot be charged at once
--              keys         how many KEYS the run has
-- Reply      when all requests pass: 0, then two numbers for each of KEYS, after all was charged:
--              used         units charged in the open window
--              left         milliseconds until the window ends, 0 where none is open
--            when some request does not: 1, then two numbers for each check, as if the requests had come one by one:
--              used         units charged in the open window after the check's own request
--              left         as above; -left - 1 where the check denies
--            A request with a check whose key is not a counter (another type, text) is not charged; each of its
--            checks returns Redis' own error as text instead of `used`.
--            Where they are asked for, the ends of the windows come last, as texts, one for each of KEYS: the server's
--            clock in milliseconds when the window ends, which refund.lua compares; 0 if a check could not charge its
--            whole cost, so that nothing is refunded.
--            An error that is not the key's (READONLY, OOM, no permission) is that of the call: nothing is charged.
--
-- Stored     key -> the units used, as an integer; the window is the key's own expiry. Only the server's clock
--            counts. A counter of nothing (0 or less, however it came to be) is no counter.
--            A counter stops at 2^53 - 1, the largest limit; a larger number, from other programs, is read as this.
-- Promises   * A request is charged whole or, where a check of it denies, not at all (countDenied apart):
--              no count, no new key, no moved expiry.
--            * Every counter touched has a time left when the script ends, at most its window, whoever made it,
--              whether a request passes or not. PTTL 0 is a counter in its last millisecond: it is left alone.
--            * No call between an increment and its expiry can fail on what the key holds.
-- Cluster    all KEYS of a call lie in one slot.
--
-- The common case is that all pass: then each counter is charged the whole sum at once, and the caller works out what
-- each of its checks was. Only when a counter goes over its lowest limit are the requests gone through one by one.

local call, pcall = redis.call, redis.pcall
local type, tonumber = type, tonumber

-- From here on a client may read an integer inexactly: units are sent as a text.
local LARGE = 4503599627370496
-- Where counters stop: up to here numbers are exact, and no counter can overflow.
local MOST = 9007199254740991

-- The units used, without charging; 0 where there is no counter.
local function look(key)
  local value = pcall('GET', key)
  if type(value) ~= 'string' then
    return value or 0
  end
  local is_whole = value == '0' or value:find('^[1-9]%d*$') or #value < 20 and value:find('^-[1-9]%d*$')
  return is_whole and tonumber(value) or { err = 'ERR value is not an integer or out of range' }
end

-- Opens the window of a counter that this visit is the first of. What it held, if anything, was less than nothing.
-- A user who may count but not set an end leaves nothing behind: answers the error.
local function open(key, window, used, cost)
  if used ~= tonumber(cost) then
    call('SET', key, cost, 'PX', window)
    return nil
  end
  local done = pcall('PEXPIRE', key, window)
  if type(done) == 'table' then
    call('DEL', key)
    return done.err
  end
  return nil
end

local reply = { 0 }
-- For each key: the error if it is not a counter; true if a charge would take it beyond MOST. Such a key is charged
-- later, when it is known how much room is left.
local odd = {}
local all_pass = true
local charged = false
local k = 0

-- Notes a charge that failed. Returns the units of a counter that is too large to be charged; else nil, and whether
-- the error does not concern the key's value: then every key would have it.
local function fail(key, err)
  all_pass = false
  local is_of_key = err:find('not an integer', 1, true) or err:find('would overflow', 1, true)
  local used = is_of_key and look(key)
  if type(used) == 'number' and used > MOST then
    odd[k] = true
    return used
  end
  odd[k] = err
  return nil, not is_of_key and not err:find('WRONGTYPE', 1, true)
end

-- Large numbers, which clients cannot read exactly, as text. Undoes a charge that took the counter beyond MOST.
local function large(key, used, cost_text)
  if used > MOST then
    all_pass = false
    if not odd[k] and tonumber(cost_text) > 0 then
      call('DECRBY', key, cost_text)
      used = look(key)
    end
    odd[k] = true
    used = used < MOST and used or MOST
  end
  return string.format('%.0f', used)
end

for at = 2, #ARGV, 4 do
  -- Redis takes texts as they are, and would have to write numbers out
  local window_text, cost_text = ARGV[at], ARGV[at + 2]
  local window, limit, cost = tonumber(window_text), tonumber(ARGV[at + 1]), tonumber(cost_text)
  for _ = 1, tonumber(ARGV[at + 3]) do
    k = k + 1
    local key = KEYS[k]
    local used, left
    if cost == 1 then
      used = pcall('INCR', key)
    elseif cost > 0 then
      used = pcall('INCRBY', key, cost_text)
    else
      used = look(key)
      if cost < 0 then
        all_pass, odd[k] = false, true
      end
    end
    if type(used) == 'table' then
      local failure, is_of_call = used
      used, is_of_call = fail(key, failure.err)
      if is_of_call and not charged then
        return failure
      end
    end
    if not used then
      used, left = 0, 0
    elseif cost > 0 and used <= cost then
      charged = true
      odd[k] = open(key, window_text, used, cost_text)
      all_pass = all_pass and not odd[k]
      used, left = cost, window
    else
      charged = charged or cost > 0
      -- a counter that never ends, or would outlive its window, gets its window
      left = call('PTTL', key)
      if left == -2 then
        left = 0
      elseif left < 0 or left > window then
        call('PEXPIRE', key, window_text)
        left = window
      end
      if used <= 0 then
        used, left = 0, 0
      end
    end
    if used > limit and limit >= 0 then
      all_pass = false
    end
    reply[2 * k] = used < LARGE and used or large(key, used, cost_text)
    reply[2 * k + 1] = left
  end
end

local wants_ends = ARGV[1]:byte() == 64
if all_pass and not wants_ends then
  return reply
end

-- Servers before 7 have no PEXPIRETIME: there it is worked out, as refund.lua does, to within some milliseconds.
local function end_of(key)
  if redis.REDIS_VERSION_NUM then
    local ends = pcall('PEXPIRETIME', key)
    return type(ends) == 'number' and ends or 0
  end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + call('PTTL', key)
end

-- Counters that a check could not charge by its whole cost.
local full = {}

local function answer()
  for i = 1, wants_ends and k or 0 do
    reply[#reply + 1] = string.format('%.0f', full[i] and 0 or end_of(KEYS[i]))
  end
  return reply
end

if all_pass then
  return answer()
end

-- Some request does not pass. Take every counter back to where it was, in mind only, and go through the requests.
-- `stored` keeps the values in Redis. This part is written for speed: clients over their limits make it run often.

local used, left, stored = {}, {}, {}
k = 0
for at = 2, #ARGV, 4 do
  local window, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 2])
  for _ = 1, tonumber(ARGV[at + 3]) do
    k = k + 1
    stored[k] = tonumber(reply[2 * k])
    used[k] = stored[k] - (odd[k] == true and 0 or cost)
    left[k] = used[k] > 0 and reply[2 * k + 1] or window
  end
end

local requests = cjson.decode('[' .. ARGV[1]:gsub('^@', '') .. '0]')
local n = 1
-- For checks that charged less than their cost: what they charged.
local short = {}
reply = { 1 }

-- Undoes the checks of a request that do not count (all of them after an error), and writes the new results.
local function take_back(from, to, err)
  for at = from, to, 3 do
    local i = requests[at]
    if i > 0 then
      used[i] = used[i] - (short[at] or requests[at + 2])
      short[at] = nil
    elseif err then
      used[-i] = used[-i] - (short[at] or requests[at + 2])
      short[at] = nil
    end
  end
  local place = n - 2 * (to - from + 3) / 3
  for at = from, to, 3 do
    local i = math.abs(requests[at])
    local units, time = used[i], used[i] > 0 and left[i] or 0
    reply[place + 1] = err or units < LARGE and units or string.format('%.0f', units)
    reply[place + 2] = not err and reply[place + 2] < 0 and -time - 1 or time
    place = place + 2
  end
end

-- Charges the checks of the request at `from` in order. Returns where the next request begins.
local function decide(from)
  local at, allowed, err = from, true, nil
  while requests[at] ~= 0 do
    local i, limit, cost = math.abs(requests[at]), requests[at + 1], requests[at + 2]
    local units = used[i] + cost
    local time = units > 0 and left[i] or 0
    if units > limit and limit >= 0 then
      allowed = false
      time = -time - 1
    end
    if units > MOST then
      units = MOST
      short[at] = MOST - used[i]
    end
    used[i] = units
    err = err or odd[i] ~= true and odd[i] or nil
    reply[n + 1] = units < LARGE and units or string.format('%.0f', units)
    reply[n + 2] = time
    n = n + 2
    at = at + 3
  end
  if err or not allowed then
    take_back(from, at - 3, err)
  end
  return at + 1
end

local from = 1
while from < #requests do
  from = decide(from)
end

for at in pairs(short) do
  full[math.abs(requests[at])] = true
end

-- Write down what came of it: give back what was charged too much, and drop a counter that is left with nothing.
k = 0
for at = 2, #ARGV, 4 do
  for _ = 1, tonumber(ARGV[at + 3]) do
    k = k + 1
    local key, more = KEYS[k], used[k] - stored[k]
    local is_counter = not odd[k] or odd[k] == true
    if is_counter and more < 0 and used[k] <= 0 then
      call('DEL', key)
    elseif is_counter and more < 0 then
      call('DECRBY', key, string.format('%.0f', -more))
    elseif is_counter and more > 0 and stored[k] > 0 then
      call('INCRBY', key, string.format('%.0f', more))
    elseif is_counter and more > 0 then
      call('SET', key, string.format('%.0f', more), 'PX', ARGV[at])
    end
  end
end

return answer()
