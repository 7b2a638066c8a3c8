-- heartbeat/look v1: a record beside the server's time.
-- keys: record(r)
-- args: none
-- returns: {microseconds since 1970, {field, value, …}}

local clock = redis.call('TIME')
return {string.format('%.0f', clock[1] * 1000000 + clock[2]), redis.call('HGETALL', KEYS[1])}
