-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

local function set(key)
  redis.call('HSET', key, ARGV[1], ARGV[2])
end
set(KEYS[1])
set(ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: one call of the function brings something else.
