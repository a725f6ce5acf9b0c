-- consume-mixed.lua: decides and charges the checks of one or more requests in one step, each request all or none, for
-- counters of any kind; or settles charges by their real cost. A call with nothing but fixed windows without blocks
-- goes to consume.lua or settle.lua, which take less time.
--
-- KEYS[k]    the counters, each once, however many checks use it
-- ARGV[1]    a JSON array: the requests as a string, then numbers for each run of KEYS that have them in common, in the
--            order of KEYS. All numbers are integers.
--            The text has the requests in the order of arrival, and is read only if not all of them pass. It is a list
--            of numbers, each followed by ",": for each check k, if it has cost 1, the limit of its run and mode 0,
--            else -k, limit, cost, mode; and 0 after each request. A leading "@" requests tokens, which settlements
--            need.
--              mode         0, or the sum of 1: is charged even if the request is denied; and 2: a shadow rule, which
--                           denies no request, and is charged if the request passes and the check allows it
--                           4: a peek, which charges and denies nothing, and gets what its limit would say
--                           8: a settlement: instead of a limit it has the token of the charge, `cost` was charged, and
--                           what the request really used follows. Each settlement is a request of its own, and all
--                           requests of such a call are settlements
--            A run is
--              kind         1 fixed window, 2 calendar window, 3 sliding window, 4 token bucket, 5 concurrency; 10 more
--                           if a client that exceeds the limit is blocked, which 5 never does
--              window       milliseconds, at least 1; not used by calendar windows. For concurrency the life of a lease
--              limit        the lowest limit of the checks (of a bucket: the lowest burst); -1: none of them has one
--              cost         the sum of their costs; 0 if they only read the counter. If they peek, 0, and the limit is
--                           lower by the highest cost. -1: the requests must be read
--              keys         the number of KEYS in the run
--              more         how many values follow for the run
--              starts, ends, next   for a calendar window: when the current period begins and ends, and when the next
--                           one ends, as the process computed them, in milliseconds since 1970
--              refill, burst   for a bucket: units that flow in per window, units that fit in
--              leases, id ...   for concurrency: how many leases each key has in this call; then those of the first
--                           key, of the second ... A check with cost 1 that does not peek takes the next one of its
--                           key, and a settlement releases the next one. Such checks have cost 0 or 1, and never mode 1
--              forgive, steps, step ...   for blocks: how long after a block offences are forgotten; how many steps
--                           follow; the lengths of the first, second ... block
-- Reply      a MessagePack array. If all requests pass: 0, then two numbers for each of KEYS, after all charges:
--              used         units that count now; of a bucket in parts of 1 / window of a unit, with which the caller
--                           computes the exact result of each check
--              reset        milliseconds until the counter is as new, 0 if it is
--            If some request does not pass, or the requests must be read: 1, then three numbers for each check, as if
--            the requests had come one by one:
--              used         whole units that count after the check's own request; its limit (0 without one) if it is
--                           blocked
--              reset        as above; until the end of a block
--              retry        0: the check allows its request. Above 0: it denies it, and would allow it after so many
--                           milliseconds (or never; then its counter is as new). Below 0: blocked for -retry ms
--            When a lease ends is not known: for concurrency, reset and retry are a second, if they are not 0.
--            A request with a check whose key is not a counter (another type, another content) is not charged; each of
--            its checks has Redis' own error as a string instead of `used`.
--            The tokens, if requested, come last: for each of KEYS, or for each check; -1 if there is nothing to
--            settle, also because a check could not charge its whole cost.
--            An error that does not concern a key (READONLY, OOM, no permission) fails the call: nothing is charged.
--
-- Stored     fixed        the units used, as in consume.lua: the window is the key's own expiry
--            calendar     two doubles: the units used, the end of the period
--            sliding      19 doubles: the number of the newest sub-window with a charge, then all units ever charged
--                         until the end of that one, and of each of the 17 before. The difference of two of these
--                         totals was charged in between. A window has 16 sub-windows, and 17 can lie in it in part.
--            bucket       three doubles: a time, and the units used then: whole ones, and parts of 1 / window of a unit
--            concurrency  a sorted set: the ids of the leases, by the last millisecond in which each counts. The key
--                         expires with the last one
--            block        for any kind: 4, and the end of the block with 18 digits. To consume.lua it is a large number
--            key!offences   how often the key was blocked, if there are several steps. Blocks that begin while the slot
--                           of a Cluster moves are not counted
-- Promises   * A request is charged as a whole or, if a check denies it, not at all (except countDenied, and blocks).
--            * A check begins a block if it denies its request itself, whatever other checks say, and its cost is not
--              above its limit. A block lasts its step, and at least until the counter is as new. Requests and
--              settlements change nothing about it. None begins while a debt denies for longer than blocks can last.
--            * A key is created with its expiry in one command, leases in one step. No write removes an expiry. If
--              something else did, the window ends all the same, and the key gets its expiry back in the next
--              sub-window or period.
--            * If the server's clock was set back, a state from the future counts as one of now. A lease does so once
--              its counter denies.
--            * A lease that is released a second time changes nothing. Lapsed leases do not count, and the next write
--              of their counter removes them.
--            * A settlement changes only the window, sub-window or period that was charged: it creates no counter, and
--              changes no expiry. A bucket gets back what has not flowed in since the charge; a debt is charged to it
--              as it is now, also if it is full. No settlement begins a block. No counter falls below 0.
--            * Sums are exact up to 2^53 - 1. A bucket with a window of more than 139 years refills a little less.
-- Cluster    all KEYS of a call are in one slot.
--
-- In the common case all requests pass: each counter is charged the sum of the costs, and the caller computes the
-- result of each check. Only if a counter exceeds its lowest limit, or is unusual, are the requests decided one by one.
-- Nothing is written before all is decided.

local KEYS, ARGV = KEYS, ARGV
local call, pcall = redis.call, redis.pcall
local type, tonumber = type, tonumber
local floor, ceil, fmod, abs, max, huge = math.floor, math.ceil, math.fmod, math.abs, math.max, math.huge
local pack, unpack, format = struct.pack, struct.unpack, string.format

local CALENDAR, SLIDING, BUCKET, LEASES, WITH_BLOCK = 2, 3, 4, 5, 10
local SHADOW, PEEK, SETTLE = 2, 4, 8
-- Counters stop here: up to this number they are exact.
local MAX = 9007199254740991
-- Below this, the operator % is exact.
local LARGE = 4503599627370496
local NAN = 0 / 0
-- Instead of a time that is not known.
local UNKNOWN_WAIT = 1000

-- Servers before Redis 7 may be configured to replicate the script itself; they would refuse writes after TIME.
if not redis.REDIS_VERSION_NUM then
  redis.replicate_commands()
end

local args = cjson.decode(ARGV[1])
local wants_tokens = args[1]:byte() == 64
local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)

-- For each key: its value, false if that counts no more (of leases, their number); the units that count, NaN if it is
-- unusual; and what else its kind needs: the time left (fixed), the end (calendar), or the parts of a unit (bucket).
local values, base, extra = {}, {}, {}
-- For each key: where its run begins. Only filled if needed.
local run_of = {}
local reply, all_pass = { 0 }, true
local k, run = 0, 2

-- Read all counters. This part and the writes are written for speed: most calls need nothing else.
while args[run] do
  local kind, window, limit, cost = args[run] % WITH_BLOCK, args[run + 1], args[run + 2], args[run + 3]
  local first, last = k + 1, k + args[run + 4]
  if cost < 0 then
    all_pass, cost = false, 0
  elseif wants_tokens and cost > 0 then
    for i = first, last do
      run_of[i] = run
    end
  end
  if limit < 0 or limit > MAX then
    limit = MAX
  end

  if kind == SLIDING then
    local index = floor(now * 16 / window)
    local after_charge = ceil((index + 17) * window / 16) - now
    for i = first, last do
      local value, units, newest = pcall('GET', KEYS[i]), 0, index
      if value then
        units = NAN
        if #value == 152 then
          local top
          newest, top = unpack('<dd', value)
          local age = index - newest
          if age > 16 and newest >= 0 then
            value, units = false, 0
          elseif age >= 0 and age <= 16 then
            local bottom = unpack('<d', value, 145 - 8 * age)
            if bottom >= 0 and top > bottom and top <= MAX and (age + bottom + top) % 1 == 0 then
              units = top - bottom
            end
          end
        end
      end
      local reset = after_charge
      if cost == 0 then
        reset = units > 0 and ceil((newest + 17) * window / 16) - now or 0
      end
      values[i], base[i] = value, units
      units = units + cost
      reply[2 * i], reply[2 * i + 1] = units, reset
      all_pass = all_pass and units <= limit
    end
  elseif kind == BUCKET then
    local refill = args[run + 6]
    for i = first, last do
      local value, units, part = pcall('GET', KEYS[i]), 0, 0
      if value then
        units = NAN
        if #value == 24 then
          local since, whole, rest = unpack('<ddd', value)
          local flow = (now - since) * refill
          if flow >= 0 and flow < LARGE and whole >= 0 and whole <= MAX and rest >= 0 and rest < window
            and (since + whole + rest) % 1 == 0 then
            part = flow % window
            units, part = whole - (flow - part) / window, rest - part
            if part < 0 then
              units, part = units - 1, part + window
            end
            if units < 0 or units + part == 0 then
              value, units, part = false, 0, 0
            end
          end
        end
      end
      local product = (units + cost) * window + part
      local rest = product % refill
      if not (product < LARGE and refill > 0) then
        units = NAN
      end
      if part > 0 then
        units = units + 1
      end
      values[i], base[i], extra[i] = value, units, part
      units = units + cost
      reply[2 * i], reply[2 * i + 1] = product, (product - rest) / refill + (rest > 0 and 1 or 0)
      all_pass = all_pass and units <= limit
    end
  elseif kind == CALENDAR then
    -- If the clock of the process is off by more than a period, the periods before and after the known ones are taken
    -- to be as long as these.
    local starts, ends, latest = args[run + 6], args[run + 7], args[run + 8]
    if now < starts then
      local length = ends > starts and ends - starts or 1
      ends = starts - floor((starts - 1 - now) / length) * length
    elseif now >= latest then
      local length = latest > ends and latest - ends or 1
      ends = latest + (floor((now - latest) / length) + 1) * length
    elseif now >= ends then
      ends = latest
    end
    latest = latest > ends and latest or ends
    args[run + 6], args[run + 8] = ends, latest
    for i = first, last do
      local value, units, period_end = pcall('GET', KEYS[i]), 0, ends
      if value then
        units = NAN
        if #value == 16 then
          local count, stored_end = unpack('<dd', value)
          if stored_end <= now and stored_end >= 0 then
            value, units = false, 0
          elseif count >= 1 and count <= MAX and stored_end <= latest and (count + stored_end) % 1 == 0 then
            units, period_end = count, stored_end
          end
        end
      end
      values[i], base[i], extra[i] = value, units, period_end
      units = units + cost
      reply[2 * i], reply[2 * i + 1] = units, units > 0 and period_end - now or 0
      all_pass = all_pass and units <= limit
    end
  elseif kind == LEASES then
    local earliest = format('%d', now)
    for i = first, last do
      local value = pcall('ZCOUNT', KEYS[i], earliest, '+inf')
      local units = type(value) == 'number' and value or NAN
      values[i], base[i] = value, units
      units = units + cost
      reply[2 * i], reply[2 * i + 1] = units, units > 0 and UNKNOWN_WAIT or 0
      all_pass = all_pass and units <= limit
    end
  else
    for i = first, last do
      local value, units, left = pcall('GET', KEYS[i]), 0, cost > 0 and window or 0
      if value then
        units = NAN
        if #value > 0 and #value < 16 and value:find('^[1-9]%d*$') then
          left = call('PTTL', KEYS[i])
          if left >= 0 and left <= window then
            units = tonumber(value)
          end
        end
      end
      values[i], base[i], extra[i] = value, units, left
      units = units + cost
      reply[2 * i], reply[2 * i + 1] = units, left
      all_pass = all_pass and units <= limit
    end
  end

  k, run = last, run + 6 + args[run + 5]
end

-- If the requests are decided one by one, for each key: the units after all of them, and whether it must be written
-- though nothing is charged. For each check: the key that it charged with its whole cost, else 0.
local used, is_wrong, charged
local resets = {}
-- For each key with leases, then: those to write.
local taken = {}

if not all_pass then
  reply, used, is_wrong, charged = { 1 }, {}, {}, {}
  -- For each key: the error if it is not a counter; until when it is blocked.
  local problems, blocked_until = {}, {}

  -- What some call needs. Functions take time to create: those for a few calls are created only for these.
  local has_unusual, has_bucket, has_leases, has_block, has_settlements = false, false, false, false, false
  k, run = 0, 2
  while args[run] do
    has_bucket = has_bucket or args[run] % WITH_BLOCK == BUCKET
    has_leases = has_leases or args[run] == LEASES
    has_block = has_block or args[run] >= WITH_BLOCK
    has_settlements = has_settlements or args[run + 3] < 0
    for i = k + 1, k + args[run + 4] do
      run_of[i], used[i] = run, base[i]
      has_unusual = has_unusual or base[i] ~= base[i]
    end
    k, run = k + args[run + 4], run + 6 + args[run + 5]
  end

  local flow_in, time_to_flow_in
  if has_bucket then
    -- a * b / by, as a whole number and a rest, for a and b below by.
    local function divide_product(a, b, by)
      local quotient, rest = 0, a * b
      if rest <= MAX then
        rest = fmod(rest, by)
        return (a * b - rest) / by, rest
      elseif by > 2 ^ 42 then
        -- rounds down by more than the errors of the other operations
        quotient = a / by * b * (1 - 2 ^ -50)
        return floor(quotient), floor(quotient % 1 * by)
      end
      rest = 0
      for place = 40, 0, -10 do
        local product = rest * 1024 + floor(b / 2 ^ place) % 1024 * a
        rest = fmod(product, by)
        quotient = quotient * 1024 + (product - rest) / by
      end
      return quotient, rest
    end

    -- What flows into a bucket in some time: whole units, and parts of a unit.
    function flow_in(elapsed, refill, window)
      local flow = elapsed * refill
      if flow <= MAX then
        local part = fmod(flow, window)
        return (flow - part) / window, part
      end
      local rest, more = fmod(elapsed, window), fmod(refill, window)
      local whole = (elapsed - rest) / window * refill + (refill - more) / window * rest
      local units, part = divide_product(rest, more, window)
      return whole + units, part
    end

    -- How long so much takes to flow into a bucket.
    function time_to_flow_in(units, part, refill, window)
      if units <= 0 and part <= 0 then
        return 0
      elseif refill == 0 then
        return window
      end
      local product = units * window + part
      if product <= MAX then
        local rest = fmod(product, refill)
        return (product - rest) / refill + (rest > 0 and 1 or 0)
      end
      local wait = floor(units / refill * window + part / refill) - 1
      for _ = 1, 4 do
        local whole, more = flow_in(wait, refill, window)
        if whole > units or whole == units and more >= part then
          break
        end
        wait = wait + 1
      end
      return wait < MAX and wait or MAX
    end
  end

  local block_of, longest_block
  if has_block then
    -- The block of a run: after how long offences are forgotten, the number of steps, the position of the first one.
    function block_of(run_at)
      local kind = args[run_at] - WITH_BLOCK
      if kind < 0 then
        return nil, 0, 0
      end
      local params = run_at + (kind == CALENDAR and 9 or kind == BUCKET and 8 or 6)
      return args[params], args[params + 1], params + 2
    end

    -- The longest time that a key can be blocked.
    function longest_block(i)
      local run_at = run_of[i]
      local kind, longest = args[run_at] % WITH_BLOCK, args[run_at + 1]
      if kind == SLIDING then
        longest = ceil(longest / 16 * 18)
      elseif kind == BUCKET then
        longest = time_to_flow_in(args[run_at + 7], 0, args[run_at + 6], longest)
      elseif kind == CALENDAR then
        longest = args[run_at + 8] - now
      end
      local _, steps, first = block_of(run_at)
      for step = first, first + steps - 1 do
        longest = args[step] > longest and args[step] or longest
      end
      return longest
    end
  end

  if has_unusual then
    local function is_count(number)
      return number >= 0 and number <= MAX and number % 1 == 0
    end

    -- The readers of unusual keys return the units that count, and what else the kind needs; nil if it is not a
    -- counter.

    -- A state from the future. It becomes one of the next sub-window: its newest charge may be as new as a moment ago.
    local function read_sliding(i, value, window)
      local index, newest, top = floor(now * 16 / window), unpack('<dd', value)
      local bottom = unpack('<d', value, 145)
      if is_count(newest) and newest > index and is_count(top) and is_count(bottom) and bottom < top then
        if newest > index + 1 then
          values[i], is_wrong[i] = pack('<d', index + 1) .. value:sub(9), true
        end
        return top - bottom
      end
    end

    local function read_bucket(i, value, window, refill)
      local since, units, part = unpack('<ddd', value)
      if not (is_count(since) and is_count(units) and is_count(part) and part < window) then
        return nil
      end
      local whole, more = flow_in(since < now and now - since or 0, refill, window)
      units, part = units - whole, part - more
      if part < 0 then
        units, part = units - 1, part + window
      end
      if units < 0 or units + part == 0 then
        values[i] = false
        return 0, 0
      end
      is_wrong[i] = since > now
      return part > 0 and units + 1 or units, part
    end

    local function read_calendar(i, value, ends, latest)
      local units, stored_end = unpack('<dd', value)
      if is_count(units) and units > 0 and is_count(stored_end) then
        is_wrong[i] = stored_end > latest
        return units, stored_end > latest and ends or stored_end
      end
    end

    local function read_fixed(i, value, window)
      if not (value == '0' or value:find('^[1-9]%d*$') or #value < 20 and value:find('^-[1-9]%d*$')) then
        return nil
      end
      local units, left = tonumber(value), call('PTTL', KEYS[i])
      if left == -1 or left > window then
        left, is_wrong[i] = window, true
      end
      if units > 0 then
        return units < MAX and units or MAX, left
      end
      values[i] = false
      return 0, 0
    end

    local function read_block(i, value)
      local ends = tonumber(value:sub(2))
      -- a check of a rule without blocks does not know how long they are
      local latest = args[run_of[i]] >= WITH_BLOCK and now + longest_block(i) or ends
      values[i] = false
      if ends > now then
        blocked_until[i], is_wrong[i] = ends < latest and ends or latest, ends > latest
      end
      return 0
    end

    local function read_unusual(i)
      local value, run_at = values[i], run_of[i]
      local kind, window, params = args[run_at] % WITH_BLOCK, args[run_at + 1], run_at + 6
      local units, rest
      if not value then
        units = 0
      elseif type(value) == 'string' and #value == 19 and value:find('^4%d+$') then
        units = read_block(i, value)
      elseif kind == SLIDING and #value == 152 then
        units = read_sliding(i, value, window)
      elseif kind == BUCKET and #value == 24 then
        units, rest = read_bucket(i, value, window, args[params])
      elseif kind == CALENDAR and #value == 16 then
        units, rest = read_calendar(i, value, args[params], args[params + 2])
      elseif kind < CALENDAR and type(value) == 'string' then
        units, rest = read_fixed(i, value, window)
      end
      base[i], extra[i] = units or 0, rest or kind == CALENDAR and args[params] or 0
      if not units then
        problems[i] = type(value) == 'table' and value.err or 'ERR value is not an integer or out of range'
      end
    end

    for i = 1, k do
      if base[i] ~= base[i] then
        read_unusual(i)
        if type(values[i]) == 'table' and not problems[i]:find('WRONGTYPE', 1, true) then
          return values[i]
        end
        used[i] = base[i]
      end
    end
  end

  -- For each key with leases: the position of the next one of this call.
  local lease_at = {}
  for i = 1, has_leases and k or 0 do
    local run_at = run_of[i]
    if args[run_at] == LEASES then
      -- the position follows the leases of the key before, if that has the same run
      lease_at[i] = run_of[i - 1] == run_at and lease_at[i - 1] + args[run_at + 6] or run_at + 7
      taken[i] = {}
    end
  end

  -- Gives the leases of a key that are from the future the time of those of now.
  local function mend_leases(i)
    is_wrong[i] = false
    local latest = format('(%d', now + args[run_of[i] + 1])
    for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[i], latest, '+inf')) do
      taken[i][#taken[i] + 1], is_wrong[i] = id, true
    end
  end

  -- How long until a counter is as new.
  local function reset_of(i)
    local units, run_at = used[i], run_of[i]
    local kind, window = args[run_at] % WITH_BLOCK, args[run_at + 1]
    if units == 0 then
      return 0
    elseif kind == SLIDING then
      local newest = values[i] and unpack('<d', values[i]) or 0
      local index = floor(now * 16 / window)
      newest = units > base[i] and max(index, newest) or newest
      return ceil((newest + 17) * window / 16) - now
    elseif kind == BUCKET then
      local part = extra[i]
      return time_to_flow_in(part > 0 and units - 1 or units, part, args[run_at + 6], window)
    elseif kind == CALENDAR then
      return extra[i] - now
    elseif kind == LEASES then
      return UNKNOWN_WAIT
    end
    return base[i] > 0 and extra[i] or window
  end

  -- How long until `need` units of a counter count no more. If there are not so many, until it is as new.
  local function wait_for(i, need)
    local run_at, units = run_of[i], used[i]
    local kind, window = args[run_at] % WITH_BLOCK, args[run_at + 1]
    if kind == CALENDAR then
      return extra[i] - now
    elseif kind == LEASES then
      return UNKNOWN_WAIT
    elseif units == 0 then
      return window
    elseif kind == SLIDING and need <= base[i] then
      local newest, top = unpack('<dd', values[i])
      local bottom, age = top - base[i], max(floor(now * 16 / window) - newest, 0)
      while age < 16 and unpack('<d', values[i], 137 - 8 * age) - bottom < need do
        age = age + 1
      end
      return ceil((newest + age + 1) * window / 16) - now
    elseif kind == BUCKET and need <= units then
      local part = extra[i]
      return time_to_flow_in(part > 0 and need - 1 or need, part, args[run_at + 6], window)
    end
    -- the last millisecond of a fixed window belongs to it
    return reset_of(i) + (kind < CALENDAR and 1 or 0)
  end

  -- The checks of the request that is decided: key, limit, cost, mode; what a settled request really used; units
  -- charged; units over the limit; the lease.
  local keys, limits, costs, modes, real_costs, charges, excess, leases = {}, {}, {}, {}, {}, {}, {}, {}
  -- The blocks that begin: for each key the number of offences, and after how long they are forgotten.
  local begun, blocks = {}, 0

  local begin_block
  if has_block then
    function begin_block(i)
      local forgive, steps, first = block_of(run_of[i])
      if not forgive or blocked_until[i] then
        return
      end
      local offences = steps > 1 and pcall('GET', KEYS[i] .. '!offences')
      offences = type(offences) == 'string' and #offences < 16 and offences:find('^%d+$') and tonumber(offences) or 0
      offences = offences < steps and offences or steps - 1
      local length, reset = args[first + offences], reset_of(i)
      if reset > longest_block(i) then
        return
      end
      length = length > reset and length or reset
      blocked_until[i], begun[i], blocks = now + length, { offences + 1, steps > 1 and length + forgive }, blocks + 1
    end
  end

  local settle_charge, release
  if has_settlements then
    -- Each of these returns by how much the units that count change; nil if what was charged counts no more.

    -- Changes what was charged in one sub-window. The newest sub-window with a charge may be another one afterwards.
    local function settle_sliding(i, index, difference)
      local value, state = values[i], ''
      local newest, top = unpack('<dd', value)
      local place = 9 + 8 * (newest - index)
      if place < 9 or place > 137 or floor(now * 16 / args[run_of[i] + 1]) - index > 16 then
        return nil
      end
      local units = unpack('<d', value, place) - unpack('<d', value, place + 8)
      if units == 0 then
        return nil
      end
      difference = max(difference, -units)
      -- a total that would become too large: what does not count is taken out of all
      local bottom = top + difference > MAX and top - base[i] or 0
      for at = 9, 145, 8 do
        state = state .. pack('<d', max(unpack('<d', value, at) - bottom, 0) + (at <= place and difference or 0))
      end
      while base[i] + difference > 0 and state:sub(1, 8) == state:sub(9, 16) do
        newest, state = newest - 1, state:sub(9) .. state:sub(-8)
      end
      values[i] = pack('<d', newest) .. state
      return difference
    end

    -- A bucket gets back what has not flowed in since the charge. A debt is charged as it is.
    local function settle_bucket(i, since, cost, difference)
      if difference > 0 then
        return difference
      end
      local run_at, part = run_of[i], extra[i]
      local window = args[run_at + 1]
      local whole, more = flow_in(since < now and now - since or 0, args[run_at + 6], window)
      if whole >= cost then
        return nil
      end
      if cost - whole - (more > 0 and 1 or 0) >= -difference then
        whole, more = cost + difference, 0
      end
      local units = (part > 0 and base[i] - 1 or base[i]) - (cost - whole)
      part = part + more
      if part >= window then
        units, part = units + 1, part - window
      end
      extra[i] = units >= 0 and part or 0
      return (units >= 0 and units + (part > 0 and 1 or 0) or 0) - base[i]
    end

    -- Whether the window of a fixed counter ends at a time. Before Redis 7 its end cannot be read exactly: there 50 ms
    -- count as equal.
    local function ends_at(i, ends)
      if redis.REDIS_VERSION_NUM then
        return call('PEXPIRETIME', KEYS[i]) == ends
      end
      local distance = abs(now + extra[i] - ends)
      return distance == 0 or distance <= 50 and 2 * distance < args[run_of[i] + 1]
    end

    -- Changes a fixed window, at once: its expiry must not change.
    local function settle_fixed(i, ends, difference)
      if is_wrong[i] or not ends_at(i, ends) then
        return nil
      end
      difference = max(difference, -base[i])
      if base[i] + difference > 0 then
        call('INCRBY', KEYS[i], format('%d', difference))
      end
      return difference
    end

    -- Releases a lease, at once.
    function release(i, id)
      if not problems[i] then
        call('ZREM', KEYS[i], id)
        base[i] = call('ZCOUNT', KEYS[i], format('%d', now), '+inf')
        used[i] = base[i]
      end
    end

    -- Settles a charge of `cost` by what the request really used.
    function settle_charge(i, token, cost, real_cost)
      local kind = args[run_of[i]] % WITH_BLOCK
      local room, difference = MAX - base[i], real_cost - cost
      difference = difference < room and difference or room
      if token == huge or difference == 0 or base[i] == 0 and (kind ~= BUCKET or difference < 0) then
        return
      elseif kind == SLIDING then
        difference = settle_sliding(i, token, difference)
      elseif kind == BUCKET then
        difference = settle_bucket(i, token, cost, difference)
      elseif kind < CALENDAR then
        difference = settle_fixed(i, token, difference)
      else
        difference = extra[i] == token and max(difference, -base[i])
      end
      if difference then
        base[i] = base[i] + difference
        used[i], is_wrong[i] = base[i], is_wrong[i] or kind >= CALENDAR or base[i] == 0
      end
    end
  end

  -- Charges or settles the check j of a request. Returns whether it denies the request.
  local function charge(j)
    local i, limit, mode = keys[j], limits[j], modes[j]
    charges[j], excess[j], leases[j] = 0, 0, nil
    if lease_at[i] and (costs[j] > 0 and mode < PEEK or mode == SETTLE) then
      leases[j], lease_at[i] = args[lease_at[i]], lease_at[i] + 1
    end
    if blocked_until[i] then
      excess[j] = (limit < huge or mode == SETTLE) and 1 or 0
    elseif mode == SETTLE then
      if leases[j] then
        release(i, leases[j])
      elseif not problems[i] then
        settle_charge(i, limit, costs[j], real_costs[j])
      end
    elseif not problems[i] then
      local units = used[i] + costs[j]
      excess[j] = units > limit and costs[j] - (limit - used[i]) or 0
      if excess[j] > 0 and lease_at[i] and is_wrong[i] == nil then
        mend_leases(i)
      end
      if excess[j] > 0 and mode == SHADOW then
        -- a shadow rule does not count what it would deny
        units = used[i]
      elseif excess[j] > 0 and args[run_of[i]] % WITH_BLOCK == BUCKET then
        -- a denied charge empties the bucket, and no more
        units = used[i] > limit and used[i] or limit
      end
      units = units < MAX and units or MAX
      if mode ~= PEEK then
        charges[j], used[i] = units - used[i], units
      end
    end
    return excess[j] > 0 and mode < SHADOW
  end

  -- Writes the result of the check j of a request at a place of the reply.
  local function answer(place, j, before)
    local i, limit = keys[j], limits[j]
    local ends, units = blocked_until[i], used[i]
    if ends then
      reply[place + 1] = limit < huge and modes[j] ~= SETTLE and limit or 0
      reply[place + 2] = ends - now
      reply[place + 3] = excess[j] > 0 and now - ends or 0
    else
      reply[place + 1], reply[place + 2] = units, reset_of(i)
      reply[place + 3] = excess[j] > 0 and wait_for(i, excess[j] + units - before[i]) or 0
    end
  end

  local numbers = cjson.decode('[' .. (wants_tokens and args[1]:sub(2) or args[1]) .. '0]')

  -- Reads the check at a position as the j-th one of its request. Returns the next position.
  local function read_check(j, at)
    local i = numbers[at]
    local limit = i > 0 and args[run_of[i] + 2] or numbers[at + 1]
    keys[j], costs[j], modes[j] = i, 1, 0
    if i < 0 then
      keys[j], costs[j], modes[j], at = -i, numbers[at + 2], numbers[at + 3], at + 3
    end
    if modes[j] == SETTLE then
      at = at + 1
      real_costs[j] = numbers[at]
    end
    limits[j] = limit >= 0 and limit or huge
    return at + 1
  end

  -- Takes back the charges of a request that does not pass, and begins blocks.
  local function settle(count, denied, err)
    for j = 1, count do
      if err or denied and modes[j] % 2 == 0 then
        used[keys[j]], charges[j] = used[keys[j]] - charges[j], 0
      end
    end
    for j = 1, has_block and not err and count or 0 do
      -- a request that could never pass does not cross the limit
      if excess[j] > 0 and costs[j] > 0 and costs[j] <= limits[j] and modes[j] < PEEK then
        begin_block(keys[j])
      end
    end
  end

  -- How many results the reply has.
  local n = 0

  -- Decides the request at a position. Returns the position of the next one.
  local function decide(at)
    local before, count, denied, err = {}, 0, false, nil
    while numbers[at] ~= 0 do
      count = count + 1
      at = read_check(count, at)
      local i = keys[count]
      before[i] = before[i] or used[i]
      denied = charge(count) or denied
      err = err or problems[i]
      if not denied and not err then
        answer(3 * (n + count) - 2, count, before)
      end
    end
    local blocks_before = blocks
    settle(count, denied, err)
    for j = 1, count do
      n = n + 1
      if err then
        reply[3 * n - 1], reply[3 * n], reply[3 * n + 1] = err, 0, 0
      elseif denied or blocks > blocks_before then
        answer(3 * n - 2, j, before)
      end
      local i = keys[j]
      charged[n] = charges[j] > 0 and charges[j] == costs[j] and not blocked_until[i] and i or 0
      if charged[n] > 0 and leases[j] then
        taken[i][#taken[i] + 1] = leases[j]
      end
    end
    return at + 1
  end

  local at = 1
  while at < #numbers do
    at = decide(at)
  end

  for i, ends in pairs(blocked_until) do
    if begun[i] or is_wrong[i] then
      call('SET', KEYS[i], format('4%018.0f', ends), 'PX', format('%d', ends - now))
    end
    if begun[i] and begun[i][2] then
      -- fails while the slot moves to another server, because the key may be on either
      pcall('SET', KEYS[i] .. '!offences', format('%d', begun[i][1]), 'PX', format('%d', begun[i][2]))
    end
    used[i], is_wrong[i] = base[i], false
  end
  for i = 1, k do
    resets[i] = reset_of(i)
  end
end

-- Write the counters that have changed. A state that is there has an expiry, and is replaced in place: this takes less
-- time than SET with an expiry.
k, run = 0, 2
while args[run] do
  local kind, window = args[run] % WITH_BLOCK, args[run + 1]
  local first, last = k + 1, k + args[run + 4]
  if not used and args[run + 3] == 0 then
    first = last + 1
  end
  local index, expiry = floor(now * 16 / window), nil
  for i = first, last do
    local key, value, units, left, rewrites = KEYS[i], values[i], reply[2 * i], reply[2 * i + 1], false
    if used then
      units, left, rewrites = used[i], resets[i], is_wrong[i]
    end
    local added = units - base[i]
    if added > 0 or rewrites then
      if units == 0 then
        call('DEL', key)
      elseif kind == SLIDING and value then
        local newest, top = unpack('<dd', value)
        local bottom, age = top - base[i], index - newest
        if age < 0 then
          age = 0
        end
        local total = bottom + units
        if age == 0 and total <= MAX and not rewrites then
          call('SETRANGE', key, '8', pack('<d', total))
        else
          if added > 0 then
            -- the total did not grow in the sub-windows without a charge
            local older = age == 0 and value:sub(17) or value:sub(9, 16):rep(age - 1) .. value:sub(9, 152 - 8 * age)
            if total > MAX then
              older = older:gsub('........', function(number)
                return pack('<d', unpack('<d', number) - bottom)
              end)
            end
            value = pack('<dd', newest + age, total <= MAX and total or units) .. older
          end
          -- the same for all keys of a run, unless they are decided one by one
          expiry = not used and expiry or format('%d', now + left)
          call('SETRANGE', key, '0', value)
          call('PEXPIREAT', key, expiry)
        end
      elseif kind == SLIDING then
        call('SET', key, pack('<dd', index, units) .. ('\0'):rep(136), 'PX', format('%d', left))
      elseif kind == BUCKET then
        local part = extra[i]
        local whole = used and (part > 0 and units - 1 or units) or (units - part) / window
        local state = pack('<ddd', now, whole, part)
        if value then
          call('SETRANGE', key, '0', state)
          call('PEXPIREAT', key, format('%d', now + left))
        else
          call('SET', key, state, 'PX', format('%d', left))
        end
      elseif kind == CALENDAR then
        if value and not rewrites then
          call('SETRANGE', key, '0', pack('<d', units))
        else
          call('SET', key, pack('<dd', units, extra[i]), 'PX', format('%d', left))
        end
      elseif kind == LEASES then
        expiry = expiry or format('%d', now + window)
        local ids, at, count = taken[i] or args, 1, taken[i] and #taken[i] or args[run + 6]
        if not taken[i] then
          at = run + 7 + (i - first) * count
        end
        for place = at, at + count - 1 do
          call('ZADD', key, expiry, ids[place])
        end
        call('PEXPIREAT', key, expiry)
        call('ZREMRANGEBYSCORE', key, '-inf', format('(%d', now))
      elseif added == 0 then
        call('PEXPIRE', key, format('%d', window))
      elseif value and not rewrites then
        call('INCRBY', key, format('%d', added))
      else
        call('SET', key, format('%d', units), 'PX', format('%d', window))
      end
    end
  end
  k, run = last, run + 6 + args[run + 5]
end

if not wants_tokens then
  return cmsgpack.pack(reply)
end

-- The token of a charge: the number of the sub-window, the time (bucket), or the end of the window. A lease is released
-- by its id, and needs none.
local function token_of(i)
  local kind = args[run_of[i]] % WITH_BLOCK
  if kind == SLIDING then
    local index = floor(now * 16 / args[run_of[i] + 1])
    local newest = values[i] and unpack('<d', values[i]) or index
    return max(index, newest)
  elseif kind == BUCKET then
    return now
  elseif kind == CALENDAR then
    return extra[i]
  elseif kind == LEASES then
    return 0
  end
  -- servers before Redis 7 have no PEXPIRETIME: there the end is computed, with an error of some milliseconds
  local ends = redis.REDIS_VERSION_NUM and call('PEXPIRETIME', KEYS[i]) or now + call('PTTL', KEYS[i])
  return ends > 0 and ends or -1
end

local n = #reply
for j = 1, charged and #charged or k do
  local i = charged and charged[j] or run_of[j] and j or 0
  reply[n + j] = i > 0 and token_of(i) or -1
end
return cmsgpack.pack(reply)
