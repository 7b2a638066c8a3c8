-- swarm/read_samples v1: the newest samples of some metrics, and the server's time.
-- keys: performance(r)...
-- args: within
-- returns: {now, the samples of each metric}, each a time in Unix milliseconds, a colon and a value

-- include: clock.lua
local found = {text(now)}
for i = 1, #KEYS do
  if redis.call('TYPE', KEYS[i]).ok == 'hash' then
    -- Somebody has written the current value here, as the seed allows.
    local one = redis.call('HMGET', KEYS[i], 'at', 'value')
    found[1 + i] = one[2] and {(one[1] or text(now)) .. ':' .. one[2]} or {}
  else
    found[1 + i] = redis.call('ZRANGEBYSCORE', KEYS[i], text(now - ARGV[1]), '+inf')
  end
end
return found
