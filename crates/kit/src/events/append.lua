-- events/append v1: append an event with the next number, and let the oldest go.
-- keys: log(rw)
-- args: millis, most, fields...
-- returns: the id
-- repeat: unsafe

-- The second half of the id counts the events: a reader that sees 41 and then 44 knows what it missed. The first half is the
-- time, and never goes back.
local time = redis.call('TIME')
local ms, number = time[1] * 1000 + math.floor(time[2] / 1000), 0
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if newest then
  local before, count = string.match(newest[1], '^(%d+)-(%d+)$')
  ms, number = math.max(ms, tonumber(before)), tonumber(count)
end
local id = string.format('%.0f-%.0f', ms, number + 1)
local last = math.min(3 + 999, #ARGV)
if ARGV[2] ~= '0' then
  redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[2], id, unpack(ARGV, 3, last))
else
  redis.call('XADD', KEYS[1], id, unpack(ARGV, 3, last))
end
if ARGV[1] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return id
