-- depot/status v1: sizes and the newest events.
-- keys: waiting(r) stats(r)
-- args: none
-- returns: {waiting, due, stats, events}

local waiting, due = redis.call('LLEN', KEYS[1]), redis.call('ZCARD', KEYS[2])
return { waiting, due, redis.call('HGETALL', KEYS[3]), redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 10) }
-- fault: the header leaves due and events out.
