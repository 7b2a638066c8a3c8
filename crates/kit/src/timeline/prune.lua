-- timeline/prune v1: drop what is too old or too much. Not a write that makes the key last longer.
-- keys: timeline(w)
-- args: unit, lasts, most
-- returns: how many went
-- repeat: unsafe

local clock = redis.call('TIME')
local now = math.floor((clock[1] * 1000000 + clock[2]) / ARGV[1])
local pruned = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
if tonumber(ARGV[3]) > 0 then
  pruned = pruned + redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[3] - 1)
end
return pruned
