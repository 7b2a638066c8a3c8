-- lease/renew v1: make the lock last longer, if it is still ours.
-- keys: lock(rw) lock_fence(r)
-- args: owner, fence, ttl(lock)
-- returns: 1 | 0 when it is over, or somebody else's
-- repeat: safe

if redis.call('GET', KEYS[2]) ~= ARGV[2] or redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
