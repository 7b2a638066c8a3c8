-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: fields...
-- returns: version
-- repeat: unsafe

redis.call('HSET', KEYS[1], unpack(ARGV))
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: there may be any number of fields.
