-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

local names = KEYS
redis.call('HSET', names[1], ARGV[1], ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: KEYS under another name cannot be followed.
