-- swarm/open_round v1: open the next consensus round.
-- keys: swarm(rw) consensus(rw) records(rw) events(w) dirty(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, round, lasts, most_records, fields...
-- returns: {"ok", version, near} | {"gone"} | {"over", status} | {"waits", status} | {"round", one that was opened before}
--   | {"crowded", list, most}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
-- What is not there yet may be about to come back.
if status == 'recovering' then return {'waits', status} end
-- Behind the newest one that the header knows, and behind those that are there all the same.
local newest = call('HGET', KEYS[1], 'currentRound') or '0'
if newest + 0 >= ARGV[7] + 0 then return {'round', newest} end
if call('EXISTS', KEYS[2]) == 1 then return {'round', ARGV[7]} end
if call('SCARD', KEYS[3]) >= ARGV[9] + 0 then return {'crowded', 'records', ARGV[9]} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[6], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
call('HSET', KEYS[1], 'currentRound', ARGV[7])
call('HSET', KEYS[2], 'status', 'pending', 'currentConfidence', '0', 'openedAt', rfc3339(now),
  'closesAt', rfc3339(now + ARGV[8]), 'version', '1')
for i = 10, #ARGV, 1000 do
  call('HSET', KEYS[2], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
call('PEXPIREAT', KEYS[2], horizon)
call('SADD', KEYS[3], 'consensus:' .. ARGV[7])
call('PEXPIREAT', KEYS[3], horizon)
local number = tell(KEYS[4], ARGV[5], 'open_round', 'consensus:' .. ARGV[7], '', 'pending', ARGV[6], '1')
mark(KEYS[5], ARGV[5], 'consensus:' .. ARGV[7], number)
return {'ok', 1, near}
