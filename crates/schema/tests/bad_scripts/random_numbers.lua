-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field
-- returns: version
-- repeat: unsafe

redis.call('HSET', KEYS[1], ARGV[1], math.random(100))
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: the script would do something else each time.
