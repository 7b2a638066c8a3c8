-- depot/status v1: sizes and the newest events.
-- keys: waiting(r) due(r) stats(r) events(r)
-- args: none
-- returns: {waiting, due, stats, events}

local waiting, due = redis.call('BLPOP', KEYS[1], 1), redis.call('ZCARD', KEYS[2])
return { waiting, due, redis.call('HGETALL', KEYS[3]), redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 10) }
-- fault: a script cannot wait.
