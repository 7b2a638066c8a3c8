-- depot/status v3: sizes, counters and the newest events as of one moment.
-- keys: waiting(r) due(r) stats(r) events(r)
-- args: count
-- returns: {waiting, due, stats, events, oldest}

local function size(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'list' then
    return 'list'
  end
  return kind
end

local waiting = KEYS[1]
local found = {
  redis.call('LLEN', waiting),
  redis.call('ZCARD', KEYS[2]),
  redis.call('HGETALL', KEYS[3]),
  redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', ARGV[1]),
}
found[#found + 1] = redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[4], '0')
found[#found + 1] = size(waiting)
return found
