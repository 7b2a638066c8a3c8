-- lease/release v1: give the lock back, if it is ours, and wake one who waits.
-- keys: lock(rw) lock_fence(rw) lock_wake(w)
-- args: owner, fence, burnt, ttl(lock_wake)
-- returns: 1 | 0 when it was no longer ours
-- repeat: safe

local fence = redis.call('GET', KEYS[2])
if fence == ARGV[3] then
  return 1
end
if fence ~= ARGV[2] then
  return 0
end
-- Burnt: a write that is still under way with this fence will be refused.
redis.call('SET', KEYS[2], ARGV[3])
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('DEL', KEYS[3])
  redis.call('RPUSH', KEYS[3], 'released')
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
return 1
