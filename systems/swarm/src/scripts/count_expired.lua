-- swarm/count_expired v1: remember that swarms ran out without having ended, and when that was found.
-- keys: expired(w)
-- args: more, last, ttl(expired)
-- returns: how many so far
-- repeat: unsafe

-- last: the one that was found last; nothing where that is not known.
-- include: clock.lua
local call = redis.call
local count = call('HINCRBY', KEYS[1], 'count', ARGV[1])
call('HSET', KEYS[1], 'lastAt', text(now))
if ARGV[2] == '' then call('HDEL', KEYS[1], 'last') else call('HSET', KEYS[1], 'last', ARGV[2]) end
call('PEXPIRE', KEYS[1], ARGV[3])
return count
