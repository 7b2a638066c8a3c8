-- swarm/live_on v1: let a swarm in which something has just happened live as long as after anything, now that its horizon is drawn.
-- keys: swarm(rw keep)
-- args: ttl(swarm)
-- returns: 1 | 0 when the swarm is gone
-- repeat: safe

-- The change itself could take it no further than the horizon of then.
local horizon = redis.call('HGET', KEYS[1], 'horizon')
if not horizon then return 0 end
-- include: clock.lua
redis.call('PEXPIREAT', KEYS[1], text(math.min(now + ARGV[1], horizon + 0)), 'GT')
return 1
