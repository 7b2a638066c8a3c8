-- swarm/recent_swarms v1: the active swarms, the latest activity first, and the server's time.
-- keys: index_active(r) index_active_feed(r)
-- args: within
-- returns: {now, swarm, second of its last activity, ...} | nothing when the index must be rebuilt

-- within: milliseconds, or nothing for all of them.
if redis.call('HEXISTS', KEYS[2], 'built') == 0 then return false end
-- include: clock.lua
local oldest = '-inf'
if ARGV[1] ~= '' then oldest = text(math.ceil((now - ARGV[1]) / 1000)) end
local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', oldest, 'WITHSCORES')
table.insert(found, 1, text(now))
return found
