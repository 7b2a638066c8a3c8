-- depot/tidy v1: forget jobs and their labels, a batch at a time.
-- keys: lock(rw) due(rw) job(rw)... tagged(rw)...
-- args: token, ttl(lock), job_ids...
-- returns: number of keys removed | -1 without the lock
-- repeat: safe

local function holds(lock)
  local holder = redis.call('GET', lock)
  if holder == ARGV[1] then
    redis.call('PEXPIRE', lock, ARGV[2])
    return true
  end
  return redis.call('SET', lock, ARGV[1], 'NX', 'PX', ARGV[2]) ~= false
end

if not holds(KEYS[1]) then
  return -1
end
for i = 3, #ARGV, 1000 do
  redis.call('ZREM', KEYS[2], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
local removed, size = 0, 500
for i = 3, #KEYS, size do
  removed = removed + redis.call('UNLINK', unpack(KEYS, i, math.min(#KEYS, i + size - 1)))
end
return removed
