-- depot/purge v1: forget months.
-- keys: archive(w)...
-- args: none
-- returns: number of keys
-- repeat: safe

return redis.call('UNLINK', KEYS[1])
-- fault: each month is on a slot of its own.
