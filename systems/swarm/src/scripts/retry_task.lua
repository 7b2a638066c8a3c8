-- swarm/retry_task v1: let a task that failed be claimed again, as one more attempt.
-- keys: swarm(rw) task(rw keep) task_roster(w keep) ready(rw) events(w) dirty(w) swarm_outbox(w) task_roster_shard(w keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, task_id, most_ready
-- returns: {"ok", version, near, attempt} | {"gone"} | {"over", status} | {"unknown"} | {"moved", status}
--   | {"crowded", list, most} | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local task = call('HMGET', KEYS[2], 'status', 'priority', 'attempt', 'shard', 'version', 'place')
if not task[1] then return {'unknown'} end
if task[1] ~= 'failed' then return {'moved', task[1]} end
if call('ZCARD', KEYS[4]) >= ARGV[8] + 0 then return {'crowded', 'ready', ARGV[8]} end
-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
-- include: list.lua
local roster = roster_of(task[4], KEYS[3], 7, #KEYS - 7)
if not roster then return {'shards', '0', task[4]} end

local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local attempt, version = text((task[3] or 0) + 1), text((task[5] or 0) + 1)
call('HDEL', KEYS[2], 'assignedAgent')
call('HSET', KEYS[2], 'status', 'pending', 'attempt', attempt, 'progress', '0', 'version', version)
call('ZADD', KEYS[4], task[6] or place_of(task[2], now), ARGV[7])
call('PEXPIREAT', KEYS[4], horizon)
list(roster, ARGV[7], task_line('pending', task[2], '0', '', attempt), 'taskCount')
local number = tell(KEYS[5], ARGV[5], 'retry_task', 'tasks:' .. ARGV[7], 'failed', 'pending', ARGV[6], version)
mark(KEYS[6], ARGV[5], 'tasks:' .. ARGV[7], number)
return {'ok', version, near, attempt}
