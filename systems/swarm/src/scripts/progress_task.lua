-- swarm/progress_task v1: report progress on a task that is held, and renew its lease.
-- keys: swarm(rw) task(rw keep) task_roster(w keep) leases(w) events(w) dirty(w) swarm_outbox(w) task_roster_shard(w keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, task_id, agent_id, fence, lease, progress, fields...
-- returns: {"ok", version, near, lease end} | {"gone"} | {"over", status} | {"unknown"} | {"lost", status, agent, fence}
--   | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local task = call('HMGET', KEYS[2], 'status', 'assignedAgent', 'fence', 'priority', 'attempt', 'shard', 'version')
if not task[1] then return {'unknown'} end
if task[1] ~= 'in_progress' or task[2] ~= ARGV[8] or task[3] ~= ARGV[9] then
  return {'lost', task[1], task[2] or '', task[3] or '0'}
end
-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
-- include: list.lua
local roster = roster_of(task[6], KEYS[3], 7, #KEYS - 7)
if not roster then return {'shards', '0', task[6]} end

local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local lease, version = text(now + ARGV[10]), text((task[7] or 0) + 1)
call('HSET', KEYS[2], 'progress', ARGV[11], 'version', version, unpack(ARGV, 12, math.min(12 + 99, #ARGV)))
list(roster, ARGV[7], task_line('in_progress', task[4], ARGV[11], task[2], task[5]), 'taskCount')
if call('ZADD', KEYS[4], lease, ARGV[7]) == 1 then call('PEXPIREAT', KEYS[4], horizon) end
local number = tell(KEYS[5], ARGV[5], 'progress_task', 'tasks:' .. ARGV[7], 'in_progress', 'in_progress', ARGV[6], version)
mark(KEYS[6], ARGV[5], 'tasks:' .. ARGV[7], number)
return {'ok', version, near, lease}
