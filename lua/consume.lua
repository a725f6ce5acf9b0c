-- consume.lua: decides and charges the checks of one or more requests in one step, each request all or none.
--
-- KEYS[k]    the counters, each once, however many checks go to it
-- ARGV[1]    the requests in the order they arrived, read only when not all of them pass:
--            each a list of checks "k,limit,cost" or, for countDenied, "k,limit,cost!", with ";" behind each check
--            and "|" behind each request; "@" before all of it asks for the ends of the windows
-- ARGV       then four numbers for each run of KEYS that have them in common, in the order of KEYS:
--              window       milliseconds; a counter lives this long from the visit that opened it
--              limit        the lowest limit of the checks on the counter; -1: they all only count
--              cost         the sum of their costs; 0 looks at the counter without charging it
--              keys         how many KEYS the run has
-- Reply      when all requests pass: 0, then two numbers for each of KEYS, after all was charged:
--              used         units charged in the open window
--              left         milliseconds until the window ends, 0 where none is open
--            when some request does not: 1, then two numbers for each check, as if the requests had come one by one:
--              used         units charged in the open window after the check's own request
--              left         as above; -left - 1 where the check denies
--            A request with a check whose key holds no counter (another type, text, too large a number) is charged
--            nowhere; each of its checks answers Redis' own error as a text in the place of `used`.
--            Where they are asked for, the ends of the windows come last, as texts, one for each of KEYS: the server's
--            clock in milliseconds when the window ends, by which refund.lua knows it again.
--            An error that is not the key's (READONLY, OOM, no permission) is that of the call: nothing is charged.
--
-- Stored     key -> the units used, as an integer; the window is the key's own expiry. Only the server's clock
--            counts. A counter of nothing (0 or less, however it came to be) is no counter.
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

-- The units used, without charging; 0 where there is no counter.
local function look(key)
  local value = pcall('GET', key)
  if type(value) ~= 'string' then
    return value or 0
  end
  local used = (value == '0' or #value < 20 and value:find('^-?[1-9]%d*$')) and tonumber(value)
  return used or { err = 'ERR value is not an integer or out of range' }
end

-- Whether an error is about what the key holds; all others would meet every key.
local function is_of_key(err)
  return err:find('WRONGTYPE', 1, true)
    or err:find('not an integer', 1, true)
    or err:find('would overflow', 1, true)
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
local errors = {}
local all_pass = true
local charged = false
local k = 0

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
    end
    if type(used) == 'table' then
      if not charged and not is_of_key(used.err) then
        return used
      end
      errors[k] = used.err
      all_pass = false
      used, left = 0, 0
    elseif cost > 0 and used <= cost then
      charged = true
      errors[k] = open(key, window_text, used, cost_text)
      all_pass = all_pass and not errors[k]
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
    reply[2 * k] = used < LARGE and used or string.format('%.0f', used)
    reply[2 * k + 1] = left
  end
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

local function answer()
  if ARGV[1]:sub(1, 1) == '@' then
    for i = 1, k do
      reply[#reply + 1] = string.format('%.0f', end_of(KEYS[i]))
    end
  end
  return reply
end

if all_pass then
  return answer()
end

-- Some request does not pass. Take every counter back to where it was, in mind only, and go through the requests.

local used, left, costs, kept = {}, {}, {}, {}
k = 0
for at = 4, #ARGV, 4 do
  for _ = 1, tonumber(ARGV[at + 1]) do
    k = k + 1
    costs[k] = tonumber(ARGV[at])
    used[k] = tonumber(reply[2 * k]) - costs[k]
    left[k] = reply[2 * k + 1]
    kept[k] = 0
  end
end

local function add(check, sign)
  used[check.k] = used[check.k] + sign * check.cost
  kept[check.k] = kept[check.k] + sign * check.cost
end

-- Charges the checks of one request in turn, and takes back those that do not count where one of them denies.
local function decide(checks)
  local allowed = true
  for _, check in ipairs(checks) do
    check.denies = check.limit >= 0 and used[check.k] + check.cost > check.limit
    allowed = allowed and not check.denies
    add(check, 1)
    check.used = used[check.k]
  end
  if allowed then
    return
  end
  for _, check in ipairs(checks) do
    if not check.counts then
      add(check, -1)
    end
  end
  for _, check in ipairs(checks) do
    check.used = used[check.k]
  end
end

reply = { 1 }
for request in ARGV[1]:gmatch('[^@|]+') do
  local checks, err = {}, nil
  for i, limit, cost, counts in request:gmatch('(%d+),(-?%d+),(%d+)(!?);') do
    i = tonumber(i)
    err = err or errors[i]
    checks[#checks + 1] = { k = i, limit = tonumber(limit), cost = tonumber(cost), counts = counts == '!' }
  end
  if not err then
    decide(checks)
  end
  for _, check in ipairs(checks) do
    local time = not err and check.used > 0 and left[check.k] or 0
    reply[#reply + 1] = err or check.used < LARGE and check.used or string.format('%.0f', check.used)
    reply[#reply + 1] = check.denies and -time - 1 or time
  end
end

-- Write down what came of it: give back what was charged too much, and drop a counter that is left with nothing.
for i = 1, k do
  if not errors[i] and kept[i] < costs[i] then
    if used[i] <= 0 then
      call('DEL', KEYS[i])
    else
      call('DECRBY', KEYS[i], costs[i] - kept[i])
    end
  end
end

return answer()
