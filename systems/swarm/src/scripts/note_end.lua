-- swarm/note_end v1: note at a swarm's newest checkpoint how the swarm ended after it; or that it goes on, where one had failed.
-- keys: swarm(r) recovery(rw keep)
-- args: none
-- returns: 1 | 0 when there was nothing to note
-- repeat: safe

local call = redis.call
local status = call('HGET', KEYS[1], 'status')
if not status or call('TYPE', KEYS[2]).ok ~= 'hash' then return 0 end
if status == 'completed' or status == 'failed' then return call('HSET', KEYS[2], 'ended', status) end
return call('HDEL', KEYS[2], 'ended')
