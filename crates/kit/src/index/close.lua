-- index/close v1: remove the outbox of a record that is gone, once it is empty.
-- keys: record(r) outbox(rw)
-- args: quiet_since
-- returns: 1 | 0 when it is still needed
-- repeat: safe

if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('XLEN', KEYS[2]) > 0 then
  return 0
end
-- The next outbox of this name must begin behind the last change of this one, so not in the same second.
local time = redis.call('TIME')
if time[1] * 1000 - 1000 < tonumber(ARGV[1]) then
  return 0
end
return redis.call('DEL', KEYS[2])
