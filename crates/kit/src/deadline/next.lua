-- deadline/next v1: how long until the earliest timer is due, by the server's clock.
-- keys: timers(r)
-- args: none
-- returns: microseconds, 0 when it is due | nil when there is none

local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if not first[2] then
  return false
end
local clock = redis.call('TIME')
local left = first[2] * 1000 - (clock[1] * 1000000 + clock[2])
return string.format('%.0f', math.min(math.max(0, left), 9007199254740992))
