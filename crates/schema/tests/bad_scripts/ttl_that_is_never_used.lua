-- depot/tidy v1: forget jobs and their labels.
-- keys: lock(rw) due(rw) job(rw)... tagged(rw)...
-- args: token, ttl(lock)
-- returns: number of keys
-- repeat: safe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('ZREM', KEYS[2], 'job')
local removed = 0
for i = 3, #KEYS do
  removed = removed + redis.call('UNLINK', KEYS[i])
end
return removed
-- fault: the lock is not renewed.
