-- timeline/count v1: how many members are of the last while, by the server's clock.
-- keys: timeline(r)
-- args: unit, window
-- returns: their number

local clock = redis.call('TIME')
local now = math.floor((clock[1] * 1000000 + clock[2]) / ARGV[1])
return redis.call('ZCOUNT', KEYS[1], string.format('%.0f', now - ARGV[2]), string.format('%.0f', now))
