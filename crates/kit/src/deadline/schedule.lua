-- deadline/schedule v1: set a timer, or move the one of this id.
-- keys: timers(rw)
-- args: id, after, due, most
-- returns: {1 when it was moved, when it is due} | nil when there are as many as the contract allows
-- repeat: unsafe

local due = ARGV[3]
if due == '' then
  -- Microseconds from now, and up to the whole millisecond: never before its time.
  local clock = redis.call('TIME')
  due = string.format('%.0f', math.ceil((clock[1] * 1000000 + clock[2] + ARGV[2]) / 1000))
end
local moved = 0
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  moved = 1
end
local most = tonumber(ARGV[4])
if moved == 0 and most > 0 and redis.call('ZCARD', KEYS[1]) >= most then
  return false
end
redis.call('ZADD', KEYS[1], due, ARGV[1])
return {moved, due}
