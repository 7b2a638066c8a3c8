-- swarm/cancel_task v1: call off a task that nobody holds.
-- keys: swarm(rw) task(rw keep) task_roster(w keep) ready(w keep) events(w) dirty(w) swarm_outbox(w)
--   task_roster_shard(w keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, task_id, from
-- returns: {"ok", version, near, dependants} | {"gone"} | {"over", status} | {"unknown"} | {"held", agent}
--   | {"moved", status} | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local task = call('HMGET', KEYS[2], 'status', 'priority', 'attempt', 'shard', 'version', 'progress', 'assignedAgent', 'dependants')
if not task[1] then return {'unknown'} end
-- Whoever works on it would not hear of it.
if task[1] == 'in_progress' then return {'held', task[7] or ''} end
if not string.find(ARGV[8], ',' .. task[1] .. ',', 1, true) then return {'moved', task[1]} end
-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
-- include: list.lua
local roster = roster_of(task[4], KEYS[3], 7, #KEYS - 7)
if not roster then return {'shards', '0', task[4]} end

local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local version = text((task[5] or 0) + 1)
call('HSET', KEYS[2], 'status', 'cancelled', 'version', version)
call('ZREM', KEYS[4], ARGV[7])
list(roster, ARGV[7], task_line('cancelled', task[2], task[6], '', task[3]), 'taskCount')
local number = tell(KEYS[5], ARGV[5], 'cancel_task', 'tasks:' .. ARGV[7], task[1], 'cancelled', ARGV[6], version)
mark(KEYS[6], ARGV[5], 'tasks:' .. ARGV[7], number)
return {'ok', version, near, task[8] or ''}
