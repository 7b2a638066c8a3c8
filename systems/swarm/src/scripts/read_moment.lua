-- swarm/read_moment v1: the time, and the newest event.
-- keys: events(r)
-- args: none
-- returns: {time in Unix milliseconds, number and time of the newest event; empty if there is none}

local clock = redis.call('TIME')
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
-- Numbers begin anew after a loss, so a number alone does not name an event.
local named = newest and newest[1] .. ' ' .. newest[2][#newest[2]] or ''
return {clock[1] * 1000 + math.floor(clock[2] / 1000), named}
