-- swarm/read_expired v1: how many swarms ran out without having ended, and how long ago the last one was found.
-- keys: expired(r)
-- args: none
-- returns: {how many, milliseconds since, the last one} | nothing when none has

-- include: clock.lua
local seen = redis.call('HMGET', KEYS[1], 'count', 'lastAt', 'last')
if not seen[1] then return false end
return {seen[1], text(math.max(now - (tonumber(seen[2] or '') or 0), 0)), seen[3] or ''}
