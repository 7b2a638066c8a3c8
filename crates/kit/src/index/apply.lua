-- index/apply v1: apply changes of one outbox in their order, each once.
-- keys: feed(rw) zsets(w)... sets(w)...
-- args: kind, source, millis, notes...
-- returns: how many were new | -1 when the index must be rebuilt first
-- repeat: safe

if redis.call('HEXISTS', KEYS[1], 'built') == 0 then
  return -1
end
local ms, number = 0, 0
local last = redis.call('HGET', KEYS[1], ARGV[2])
if last then
  local before, count = string.match(last, '^(%d+)-(%d+)$')
  ms, number = tonumber(before), tonumber(count)
end

local applied = 0
for i = 4, #ARGV, 5 do
  local at, count = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  if at > ms or (at == ms and count > number) then
    ms, number, applied = at, count, applied + 1
    if ARGV[i + 2] == 'leave' then
      if ARGV[1] == 'zset' then
        redis.call('ZREM', KEYS[2], ARGV[i + 4])
      else
        redis.call('SREM', KEYS[2], ARGV[i + 4])
      end
    elseif ARGV[1] == 'zset' then
      redis.call('ZADD', KEYS[2], ARGV[i + 3], ARGV[i + 4])
    else
      redis.call('SADD', KEYS[2], ARGV[i + 4])
    end
  end
end
if applied > 0 then
  redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f-%.0f', ms, number))
end
if ARGV[3] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return applied
