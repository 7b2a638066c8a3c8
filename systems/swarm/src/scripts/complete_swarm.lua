-- swarm/complete_swarm v1: end a running swarm, when nobody works on a task any more and none waits.
-- keys: swarm(rw) ready(r) leases(r) events(w) dirty(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, left_index, status_index
-- returns: {"ok", version, near} | {"gone"} | {"moved", status} | {"open", tasks that wait, tasks under way}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if status ~= 'running' then return {'moved', status} end
local waiting, under_way = call('ZCARD', KEYS[2]), 0
for _, member in ipairs(call('ZRANGE', KEYS[3], 0, -1)) do
  if string.sub(member, 1, 5) == 'task_' then under_way = under_way + 1 end
end
if waiting > 0 or under_way > 0 then return {'open', waiting, under_way} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[6], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local version = call('HINCRBY', KEYS[1], 'version', 1)
call('HSET', KEYS[1], 'status', 'completed')
call('XADD', KEYS[6], '*', 'index', ARGV[7], 'op', 'leave', 'member', ARGV[1])
call('XADD', KEYS[6], '*', 'index', ARGV[8], 'op', 'enter', 'member', ARGV[1])
call('XADD', KEYS[6], '*', 'index', ARGV[4], 'op', 'leave', 'member', ARGV[1])
local number = tell(KEYS[4], ARGV[5], 'complete_swarm', 'header', status, 'completed', ARGV[6], version)
mark(KEYS[5], ARGV[5], 'header', number)
return {'ok', version, near}
