-- swarm/count_expired v1: remember that swarms ran out without having ended, and when that was found.
-- keys: expired(w)
-- args: more, ttl(expired)
-- returns: how many so far
-- repeat: unsafe

-- include: clock.lua
local count = redis.call('HINCRBY', KEYS[1], 'count', ARGV[1])
redis.call('HSET', KEYS[1], 'lastAt', text(now))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return count
