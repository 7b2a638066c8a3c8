-- depot/tidy v1: forget jobs and their labels.
-- keys: lock(rw) due(rw) job(rw)... tagged(rw)...
-- args: token, ttl(lock)
-- returns: number of keys
-- repeat: safe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[2], 'job')
local removed = 0
for i = 3, #KEYS do
  removed = removed + redis.call('SET', KEYS[i], 1)
end
return removed
-- fault: SET would replace a job by a text.
