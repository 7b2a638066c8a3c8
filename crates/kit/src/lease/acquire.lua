-- lease/acquire v1: take the lock when it is free. Asked again with the same token, it answers the same.
-- keys: lock(rw) lock_fence(rw) lock_transitions(w) lock_wake(w)
-- args: owner, token, ttl(lock)
-- returns: {1, fence, 0} | {0, holder, milliseconds that are left to it}
-- repeat: safe

local fence = redis.call('GET', KEYS[2])
local term, token
if fence then
  term, token = string.match(fence, '^(%d+):(.*)$')
end

local holder = redis.call('GET', KEYS[1])
if holder then
  if holder == ARGV[1] and token == ARGV[2] then
    return {1, fence, 0}
  end
  return {0, holder, redis.call('PTTL', KEYS[1])}
end

-- A term never repeats: not after a restart, and not on a promoted replica that has not seen the last one, because
-- time has passed there too. Guards compare the token as well.
local now = redis.call('TIME')
local next_term = math.max((tonumber(term) or 0) + 1, now[1] * 1000 + math.floor(now[2] / 1000))
fence = string.format('%.0f:%s', next_term, ARGV[2])
redis.call('SET', KEYS[2], fence)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('INCR', KEYS[3])
redis.call('DEL', KEYS[4])
return {1, fence, 0}
