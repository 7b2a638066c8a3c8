-- swarm/create_swarm v1: create a swarm, unless it or something of it is there.
-- keys: swarm(rw) events(w) dirty(w) swarm_outbox(w) roster(r) task_roster(r) records(r) checkpoints(r)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, status_index, fields...
-- returns: {"ok", version, near} | {"exists", status} | {"remains"}
-- repeat: unsafe

local call = redis.call
local found = call('HGET', KEYS[1], 'status')
if found then return {'exists', found} end
-- One that ran out may be recovered; agents and tasks of its earlier life would be met in this one.
for i = 5, 8 do
  if call('EXISTS', KEYS[i]) == 1 then return {'remains'} end
end

-- include: clock.lua
local horizon, at = text(now + 2 * ARGV[2]), rfc3339(now)
-- include: tell.lua

call('HSET', KEYS[1], 'status', 'initializing', 'version', '1', 'createdAt', at, 'updatedAt', at, 'horizon', horizon,
  'agentCount', '0', 'taskCount', '0', 'currentRound', '0')
for i = 8, #ARGV, 1000 do
  call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
call('PEXPIRE', KEYS[1], ARGV[2])
call('XADD', KEYS[4], '*', 'index', ARGV[4], 'op', 'enter', 'member', ARGV[1], 'score', clock[1])
call('XADD', KEYS[4], '*', 'index', ARGV[7], 'op', 'enter', 'member', ARGV[1])
call('PEXPIRE', KEYS[4], ARGV[3])
local number = tell(KEYS[2], ARGV[5], 'create_swarm', 'header', '', 'initializing', ARGV[6], '1')
mark(KEYS[3], ARGV[5], 'header', number)
return {'ok', 1, ''}
