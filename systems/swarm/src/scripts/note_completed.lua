-- swarm/note_completed v1: note at a swarm's newest checkpoint that the swarm was completed after it.
-- keys: swarm(r) recovery(rw keep)
-- args: none
-- returns: 1 | 0 when there is nothing to note
-- repeat: safe

-- include: clock.lua
if redis.call('HGET', KEYS[1], 'status') ~= 'completed' or redis.call('TYPE', KEYS[2]).ok ~= 'hash' then return 0 end
return redis.call('HSETNX', KEYS[2], 'completedAt', text(now))
