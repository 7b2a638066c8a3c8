-- depot/chnage v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: no operation has a script of this name.
