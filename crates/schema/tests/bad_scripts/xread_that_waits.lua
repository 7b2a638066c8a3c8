-- depot/status v1: sizes and the newest events.
-- keys: waiting(r) due(r) stats(r) events(r)
-- args: none
-- returns: {waiting, due, stats, events}

local waiting, due = redis.call('LLEN', KEYS[1]), redis.call('ZCARD', KEYS[2])
return { waiting, due, redis.call('HGETALL', KEYS[3]), redis.call('XREAD', 'BLOCK', 100, 'STREAMS', KEYS[4], '$') }
-- fault: a script cannot wait.
