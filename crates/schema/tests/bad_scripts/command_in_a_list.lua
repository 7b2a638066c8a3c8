-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

local words = { 'HSET', KEYS[1], ARGV[1], ARGV[2] }
redis.call(unpack(words))
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: command and key are hidden in a list.
