-- check.lua: finds out whether the Redis user may run all commands that the other scripts need.
--
-- KEYS[1]    a key of the limiter's own: it is created and deleted. Further keys are not used; in a Cluster, a server
--            does not accept keys of different slots in one call
-- Reply      1, or the error of the first command that failed, followed by the command
--
-- Promises   The key is gone afterwards, or expires within a second.
-- Cluster    all KEYS of a call are in one slot.

local pcall = redis.pcall
local key = KEYS[1]

local commands = {
  { 'SET', key, '1', 'PX', '1000' },
  { 'INCR', key },
  { 'INCRBY', key, '1' },
  { 'DECRBY', key, '1' },
  { 'SETRANGE', key, '0', '1' },
  { 'GET', key },
  { 'PTTL', key },
  { 'PEXPIRE', key, '1000' },
  { 'DEL', key },
  { 'ZADD', key, '1', 'x' },
  { 'PEXPIRE', key, '1000' },
  { 'ZCOUNT', key, '1', '+inf' },
  { 'ZRANGEBYSCORE', key, '1', '+inf' },
  { 'ZREM', key, 'y' },
  { 'ZREMRANGEBYSCORE', key, '-inf', '0' },
  -- a time in the past
  { 'PEXPIREAT', key, '1' },
  -- servers before Redis 7 allow no write after it, and have no PEXPIRETIME
  { 'TIME' },
  redis.REDIS_VERSION_NUM and { 'PEXPIRETIME', key } or nil,
}

for _, command in ipairs(commands) do
  local reply = pcall(unpack(command))
  if type(reply) == 'table' and reply.err then
    return { err = reply.err .. ' [' .. command[1] .. ']' }
  end
end

return 1
