-- timeline/record v1: add a member at its moment, and drop what is too old or too much in the same step.
-- keys: timeline(w)
-- args: member, moment, unit, lasts, most, ttl(timeline)
-- returns: {1 when it was not there before, how many went}
-- repeat: unsafe

local clock = redis.call('TIME')
local now = math.floor((clock[1] * 1000000 + clock[2]) / ARGV[3])
local moment = ARGV[2]
if moment == '' then
  moment = string.format('%.0f', now)
end

local new = redis.call('ZADD', KEYS[1], moment, ARGV[1])
-- Formatted, because `..` keeps no more than 14 digits of a number.
local pruned = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[4]))
if tonumber(ARGV[5]) > 0 then
  pruned = pruned + redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[5] - 1)
end
-- A key that the contract gives no end of its own gets 0.
if tonumber(ARGV[6]) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
end
return {new, pruned}
