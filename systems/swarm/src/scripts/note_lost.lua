-- swarm/note_lost v1: note at a swarm's newest checkpoint that the swarm is gone, unless that is noted, or it is there.
-- keys: swarm(r) recovery(rw keep)
-- args: none
-- returns: 1 | 0 when there is nothing to note
-- repeat: safe

-- include: clock.lua
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('TYPE', KEYS[2]).ok ~= 'hash' then return 0 end
return redis.call('HSETNX', KEYS[2], 'lostAt', text(now))
