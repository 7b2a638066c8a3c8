-- index/admit v1: put one member where it belongs, unless a later change of its record is known.
-- keys: feed(rw) zsets(w)... sets(w)...
-- args: kind, token, source, millis, ms, number, score, member
-- returns: 1 | 0 when another rebuild has begun, or the index must be rebuilt
-- repeat: safe

if ARGV[2] == '' then
  if redis.call('HEXISTS', KEYS[1], 'built') == 0 then return 0 end
elseif redis.call('HGET', KEYS[1], 'building') ~= ARGV[2] then
  return 0
end
local last = redis.call('HGET', KEYS[1], ARGV[3])
if last then
  local before, count = string.match(last, '^(%d+)-(%d+)$')
  local ms, number = tonumber(ARGV[5]), tonumber(ARGV[6])
  if tonumber(before) > ms or (tonumber(before) == ms and tonumber(count) > number) then
    return 1
  end
end
if ARGV[1] == 'zset' then
  redis.call('ZADD', KEYS[2], ARGV[7], ARGV[8])
else
  redis.call('SADD', KEYS[2], ARGV[8])
end
if ARGV[5] ~= '0' then
  redis.call('HSET', KEYS[1], ARGV[3], ARGV[5] .. '-' .. ARGV[6])
end
if ARGV[4] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return 1
