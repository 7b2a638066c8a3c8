-- record/end_stretch v1: let the record live until the new horizon, now that all its children do.
-- keys: record(rw keep)
-- args: horizon
-- returns: 1 | 0 when the record is gone
-- repeat: safe

local horizon = redis.call('HGET', KEYS[1], 'horizon')
if not horizon then
  return 0
end
if tonumber(ARGV[1]) > tonumber(horizon) then
  redis.call('HSET', KEYS[1], 'horizon', ARGV[1])
end
return 1
