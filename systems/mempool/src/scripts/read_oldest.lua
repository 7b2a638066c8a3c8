-- mempool/read_oldest v1: the unfinished transactions that are older than an age, the oldest first.
-- keys: received(r)
-- args: age, most
-- returns: {hash, ...}

local time = redis.call('TIME')
local before = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[1])
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', before), 'LIMIT', 0, ARGV[2])
