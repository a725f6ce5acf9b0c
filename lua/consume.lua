-- consume.lua: decides and charges the checks of one or more requests in one step, each request all or none.
--
-- KEYS[k]    the counters, each once, however many checks use it
-- ARGV[1]    a JSON array: several arguments would need more time. First the requests as a string, then four numbers
--            for each run of KEYS that have them in common, in the order of KEYS:
--              requests     in the order of arrival, read only if not all of them pass: numbers, each followed by ",":
--                           k for each check with a cost of 1 and the limit that its run has; -k, limit, cost for any
--                           other check (-k, limit, -cost with countDenied); and 0 after each request;
--                           a leading "@" requests the ends of the windows
--              window       milliseconds; a counter lives this long from the request that opened it
--              limit        the lowest limit of the checks on the counter; -1: none of them has a limit
--              cost         the sum of their costs; 0 reads the counter without charging it; -1: a sum above
--                           2^53 - 1, which cannot be charged at once
--              keys         the number of KEYS in the run
-- Reply      one string, a MessagePack array: clients need less time for it than for an array of Redis, and read all
--            numbers up to 2^53 - 1 exactly.
--            If all requests pass: 0, then two numbers for each of KEYS, after all charges:
--              used         units charged in the open window
--              left         milliseconds until the window ends, 0 if none is open
--            If some request does not pass: 1, then two numbers for each check, as if the requests had come one by one:
--              used         units charged in the open window after the check's own request; -1 if consume-mixed.lua
--                           blocks the counter
--              left         as above, or until the block ends; -left - 1 if the check denies
--            A request with a check whose key is not a counter (another type, or not a number) is not charged; each of
--            its checks has Redis' own error as a string instead of `used`.
--            The ends of the windows, if requested, come last, one for each of KEYS: the server's clock in milliseconds
--            when the window ends, which settle.lua compares; 0 if a check could not charge its whole cost, so that
--            nothing is settled.
--            An error of the first charge that does not concern its key (READONLY, OOM, no permission) fails the call:
--            nothing is charged.
--
-- Stored     key -> the units used, as an integer; the window is the key's own expiry. Only the server's clock
--            counts. A counter of 0 or less, whatever the reason, is treated as no counter.
--            A counter stops at 2^53 - 1, the largest limit; a larger number, from another program, is read as this.
-- Promises   * A request is charged as a whole or, if a check denies it, not at all (except countDenied):
--              no count, no new key, no changed expiry.
--            * Every counter that the script touches has an expiry afterwards, at most its window, whatever made it,
--              whether a request passes or not. Only a block (see consume-mixed.lua) may last longer. A counter with
--              PTTL 0 is in its last millisecond and is not changed.
--            * Between an increment and its expiry, no call can fail because of the value of a key.
-- Cluster    all KEYS of a call are in one slot.
--
-- In the common case all requests pass: each counter is charged the whole sum at once, and the caller computes the
-- result of each check. Only if a counter exceeds its lowest limit are the requests decided one by one.

local KEYS, ARGV = KEYS, ARGV
local call, pcall = redis.call, redis.pcall
local type, tonumber, pack = type, tonumber, cmsgpack.pack

-- Counters stop here: up to this number they are exact and cannot overflow.
local MAX = 9007199254740991
-- A block of consume-mixed.lua is this number and its end.
local BLOCK = 4 * 10 ^ 18

-- The requests, then the runs.
local runs = cjson.decode(ARGV[1])
local wants_ends = runs[1]:byte() == 64
local reply = { 0 }
local all_pass = true
-- How many KEYS are charged, and how many of those in the current run, which begins at `run` in `runs`.
local k, k_in_run, run = 0, 0, 2
-- The reply to the charge of the next key, if it is not as usual.
local pending

-- Charges counters as long as each is new, or expires within its window. Most calls need no more. The rest of the
-- script charges any counter; what it needs for that takes time to create, so it comes later.
while runs[run] and not pending do
  local window, limit, cost = runs[run], runs[run + 1], runs[run + 2]
  if cost < 1 then
    break
  end
  for i = 1, runs[run + 3] do
    local key = KEYS[k + 1]
    local used, left
    if cost == 1 then
      used = pcall('INCR', key)
    else
      used = pcall('INCRBY', key, cost)
    end
    if type(used) == 'number' and used >= cost and used <= MAX then
      if used > cost then
        left = call('PTTL', key)
      elseif pcall('PEXPIRE', key, window) == 1 then
        left = window
      end
    end
    if not left or left < 0 or left > window then
      pending, k_in_run = used, i - 1
      break
    end
    if used > limit and limit >= 0 then
      all_pass = false
    end
    k = k + 1
    reply[2 * k] = used
    reply[2 * k + 1] = left
  end
  if not pending then
    run = run + 4
  end
end
if all_pass and not (pending or runs[run] or wants_ends) then
  return pack(reply)
end

-- The units used, without charging; 0 if there is no counter.
local function peek(key)
  local value = pcall('GET', key)
  if type(value) ~= 'string' then
    return value or 0
  end
  local is_whole = value == '0' or value:find('^[1-9]%d*$') or #value < 20 and value:find('^-[1-9]%d*$')
  return is_whole and tonumber(value) or { err = 'ERR value is not an integer or out of range' }
end

-- Opens the window of a counter that was just charged for the first time, or that was 0 or less before.
-- If the Redis user may not set an expiry, deletes the counter and returns the error.
local function open(key, window, used, cost)
  if used ~= cost then
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

-- For each key: the error if it is not a counter; true if the charge would exceed MAX. Such a key is charged later,
-- by as much as fits.
local problems = {}
-- The keys that are blocked; nil if there are none.
local blocked
local charged = k > 0

-- Notes a failed charge. Returns the units of a counter that is too large to be charged; else nil, and whether the
-- error concerns the whole call, and not the value of the key.
local function fail(key, err)
  all_pass = false
  local is_about_key = err:find('not an integer', 1, true) or err:find('would overflow', 1, true)
  local used = is_about_key and peek(key)
  if type(used) == 'number' and used > MAX then
    problems[k] = true
    return used
  end
  problems[k] = err
  return nil, not is_about_key and not err:find('WRONGTYPE', 1, true)
end

-- Undoes a charge that has exceeded MAX. Returns the units that the counter has then, at most MAX.
local function without_excess(key, used, cost)
  all_pass = false
  if not problems[k] and cost > 0 then
    call('DECRBY', key, cost)
    used = peek(key)
  end
  problems[k] = true
  if used > BLOCK and used <= BLOCK + MAX then
    blocked = blocked or {}
    blocked[k] = true
  end
  return used < MAX and used or MAX
end

-- Charges the other counters, whatever their keys contain.
for at = run, #runs, 4 do
  local window, limit, cost = runs[at], runs[at + 1], runs[at + 2]
  for _ = k_in_run + 1, runs[at + 3] do
    k = k + 1
    local key = KEYS[k]
    local used, left = pending
    pending = nil
    if not used and cost > 0 then
      used = pcall('INCRBY', key, cost)
    elseif not used then
      used = peek(key)
      if cost < 0 then
        all_pass, problems[k] = false, true
      end
    end
    if type(used) == 'table' then
      local failure, concerns_call = used
      used, concerns_call = fail(key, failure.err)
      if concerns_call and not charged then
        return failure
      end
    end
    if not used then
      used, left = 0, 0
    elseif cost > 0 and used <= cost then
      charged = true
      problems[k] = open(key, window, used, cost)
      all_pass = all_pass and not problems[k]
      used, left = cost, window
    else
      charged = charged or cost > 0
      -- a counter without an expiry, or with one after its window, gets its window; a block may last longer than that
      left = call('PTTL', key)
      if left == -2 then
        left = 0
      elseif left < 0 or left > window and (used <= BLOCK or used > BLOCK + MAX) then
        call('PEXPIRE', key, window)
        left = window
      end
      if used <= 0 then
        used, left = 0, 0
      end
    end
    if used > limit and limit >= 0 then
      all_pass = false
    end
    reply[2 * k] = used <= MAX and used or without_excess(key, used, cost)
    reply[2 * k + 1] = left
  end
  k_in_run = 0
end

if all_pass and not wants_ends then
  return pack(reply)
end

-- Servers before Redis 7 have no PEXPIRETIME: there the end is computed, as in settle.lua, with an error of some
-- milliseconds.
local function end_of(key)
  if redis.REDIS_VERSION_NUM then
    local ends = pcall('PEXPIRETIME', key)
    return type(ends) == 'number' and ends or 0
  end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + call('PTTL', key)
end

-- The counters that a check could not charge by its whole cost.
local cut_off = {}

-- The reply, with the ends of the windows if they were requested.
local function finish()
  for i = 1, wants_ends and k or 0 do
    reply[#reply + 1] = cut_off[i] and 0 or end_of(KEYS[i])
  end
  return pack(reply)
end

if all_pass then
  return finish()
end

-- Some request does not pass. Compute what each counter was before the call, then decide the requests one by one.
-- `stored` keeps the values in Redis. This part is written for speed: clients over their limits make it run often.

local used, left, stored, limits = {}, {}, {}, {}
k = 0
for at = 2, #runs, 4 do
  local window, limit, cost = runs[at], runs[at + 1], runs[at + 2]
  for _ = 1, runs[at + 3] do
    k = k + 1
    limits[k] = limit
    stored[k] = reply[2 * k]
    used[k] = stored[k] - (problems[k] == true and 0 or cost)
    left[k] = used[k] > 0 and reply[2 * k + 1] or window
  end
end

-- The requests with three numbers for each check: k, limit, cost (-k, limit, cost with countDenied).
local requests, size = {}, 0
local numbers = cjson.decode('[' .. runs[1]:gsub('^@', '') .. '0]')
local next_at, last = 1, #numbers - 1
while next_at <= last do
  local i, limit, cost = numbers[next_at], nil, 1
  if i > 0 then
    limit = limits[i]
  elseif i < 0 then
    limit, cost = numbers[next_at + 1], numbers[next_at + 2]
    next_at = next_at + 2
    if cost < 0 then
      cost = -cost
    else
      i = -i
    end
  end
  size = size + 1
  requests[size] = i
  if i ~= 0 then
    requests[size + 1] = limit
    requests[size + 2] = cost
    size = size + 2
  end
  next_at = next_at + 1
end

local n = 1
-- What a check has charged, if that is less than its cost.
local partial = {}
reply = { 1 }

-- Undoes the charges of a denied request, except countDenied, or all of them after an error. Writes the new results.
local function undo(from, to, err)
  for at = from, to, 3 do
    local i = requests[at]
    if i > 0 then
      used[i] = used[i] - (partial[at] or requests[at + 2])
      partial[at] = nil
    elseif err then
      used[-i] = used[-i] - (partial[at] or requests[at + 2])
      partial[at] = nil
    end
  end
  local place = n - 2 * (to - from + 3) / 3
  for at = from, to, 3 do
    local i = math.abs(requests[at])
    local units, time = used[i], used[i] > 0 and left[i] or 0
    reply[place + 1] = err or units
    reply[place + 2] = not err and reply[place + 2] < 0 and -time - 1 or time
    place = place + 2
  end
end

-- Charges the checks of the request at `from`, in order. Returns where the next request begins.
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
    if units > MAX then
      units = MAX
      partial[at] = MAX - used[i]
    end
    used[i] = units
    err = err or problems[i] ~= true and problems[i] or nil
    reply[n + 1] = units
    reply[n + 2] = time
    n = n + 2
    at = at + 3
  end
  if err or not allowed then
    undo(from, at - 3, err)
  end
  return at + 1
end

local from = 1
while from < size do
  from = decide(from)
end

if blocked then
  local at, place = 1, 2
  while at <= size do
    local i = math.abs(requests[at])
    if i == 0 then
      at = at + 1
    else
      if blocked[i] and type(reply[place]) == 'number' then
        reply[place] = -1
      end
      at, place = at + 3, place + 2
    end
  end
end

for at in pairs(partial) do
  cut_off[math.abs(requests[at])] = true
end

-- Write the results to Redis: correct the counters, and delete those that count nothing.
k = 0
for at = 2, #runs, 4 do
  for _ = 1, runs[at + 3] do
    k = k + 1
    local key, change = KEYS[k], used[k] - stored[k]
    local is_counter = not problems[k] or problems[k] == true
    if is_counter and change < 0 and used[k] <= 0 then
      call('DEL', key)
    elseif is_counter and change < 0 then
      call('DECRBY', key, string.format('%.0f', -change))
    elseif is_counter and change > 0 and stored[k] > 0 then
      call('INCRBY', key, string.format('%.0f', change))
    elseif is_counter and change > 0 then
      call('SET', key, string.format('%.0f', change), 'PX', runs[at])
    end
  end
end

return finish()
