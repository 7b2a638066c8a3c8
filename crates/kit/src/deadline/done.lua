-- deadline/done v1: acknowledge timers that this term has.
-- keys: fence(r) timers_firing(rw)
-- args: shown, term, fired...
-- returns: how many | nil when fenced
-- repeat: unsafe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return false
end
local done = 0
for i = 3, #ARGV do
  -- Of another term, it will be handed out again, and is not ours to end.
  if tonumber(redis.call('ZSCORE', KEYS[2], ARGV[i]) or -1) == tonumber(ARGV[2]) then
    done = done + redis.call('ZREM', KEYS[2], ARGV[i])
  end
end
return done
