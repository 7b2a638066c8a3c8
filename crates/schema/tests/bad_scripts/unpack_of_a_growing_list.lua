-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

local fields = {}
for i = 1, #ARGV do
  fields[i] = ARGV[i]
end
redis.call('HSET', KEYS[1], unpack(fields))
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: the list may become too long.
