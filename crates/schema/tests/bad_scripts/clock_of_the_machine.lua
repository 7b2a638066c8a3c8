-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field
-- returns: version
-- repeat: unsafe

redis.call('HSET', KEYS[1], ARGV[1], os.time())
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: os.time is not the server's.
