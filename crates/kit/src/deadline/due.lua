-- deadline/due v1: hand out what is due, once per fence; first what another term took and did not acknowledge.
-- keys: fence(r) timers(rw) timers_firing(rw)
-- args: shown, term, limit
-- returns: {how many of them were handed out before, {`due:n:id`, …}} | nil when fenced
-- repeat: unsafe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return false
end
local limit = tonumber(ARGV[3])

-- Of any other term, not only of lower ones: a promoted replica that had not seen the last term may have begun a lower one.
local out = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[2], 'LIMIT', 0, limit)
if #out < limit then
  local higher = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[2], '+inf', 'LIMIT', 0, limit - #out)
  for _, firing in ipairs(higher) do
    table.insert(out, firing)
  end
end
for _, firing in ipairs(out) do
  redis.call('ZADD', KEYS[3], ARGV[2], firing)
end
local again = #out
if again == limit then
  return {again, out}
end

local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit - again)
for i = 1, #due, 2 do
  local id = due[i]
  local at = string.format('%.0f', math.max(0, math.ceil(due[i + 1])))
  -- Set again for the same millisecond while it is firing, it is another timer: it has another number.
  local number = 0
  local firing = at .. ':0:' .. id
  while redis.call('ZSCORE', KEYS[3], firing) do
    number = number + 1
    firing = at .. ':' .. number .. ':' .. id
  end
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZADD', KEYS[3], ARGV[2], firing)
  table.insert(out, firing)
end
return {again, out}
