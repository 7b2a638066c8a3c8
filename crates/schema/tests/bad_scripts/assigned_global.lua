-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
version = redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1
-- fault: version is not local.
