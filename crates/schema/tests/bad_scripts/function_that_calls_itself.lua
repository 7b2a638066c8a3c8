-- depot/change v1: change a job.
-- keys: job(rw keep)
-- args: field, text
-- returns: version
-- repeat: unsafe

local function down(n)
  if n > 0 then
    down(n - 1)
  end
end
down(3)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'version', 1)
-- fault: the function calls itself.
