-- index/finish v1: let readers see an index that was rebuilt.
-- keys: feed(rw) zsets(w keep)... sets(w keep)...
-- args: token, millis
-- returns: 1 | 0 when another rebuild has begun
-- repeat: safe

if redis.call('HGET', KEYS[1], 'building') ~= ARGV[1] then
  return redis.call('HGET', KEYS[1], 'by') == ARGV[1] and 1 or 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HDEL', KEYS[1], 'building')
redis.call('HSET', KEYS[1], 'built', string.format('%.0f', now), 'by', ARGV[1])
if ARGV[2] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return 1
