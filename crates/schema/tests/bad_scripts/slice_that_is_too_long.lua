-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: fields...
-- returns: version
-- repeat: unsafe

for i = 1, #ARGV, 1001 do
  redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 1000, #ARGV)))
end
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: 1,001 values.
