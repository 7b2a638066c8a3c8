-- swarm/requeue_task v1: take back a task whose lease ran out. What its holder reports from now on is refused.
-- keys: swarm(r) task(rw keep) agent(rw keep) roster(w keep) task_roster(w keep) ready(w) leases(rw keep) events(w) dirty(w)
--   roster_shard(w keep)... task_roster_shard(w keep)...
-- args: most, by, task_id, agent_id, roster_shards, ttl(swarm)
-- returns: {"ok", version, attempt} | {"gone"} | {"unknown"} | {"held", agent, lease end}
--   | {"shards", agents, tasks}
-- repeat: safe

local call = redis.call
-- include: swarm.lua
local task = call('HMGET', KEYS[2], 'status', 'assignedAgent', 'priority', 'attempt', 'shard', 'version', 'place')
if not task[1] then return {'unknown'} end
-- include: clock.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
-- include: free.lua
local lease = call('ZSCORE', KEYS[7], ARGV[3])
if task[1] ~= 'in_progress' or task[2] ~= ARGV[4] or (lease and lease + 0 > now) then
  return {'held', task[2] or '', lease or ''}
end
local roster, holder = roster_of(task[5], KEYS[5], 9 + ARGV[5], #KEYS - 9 - ARGV[5]), call('HGET', KEYS[3], 'shard')
if not roster or not roster_of(holder, KEYS[4], 9, ARGV[5]) then return {'shards', holder or '0', task[5] or '0'} end

horizon = now + 2 * ARGV[6]
local version, attempt = text((task[6] or 0) + 1), text((task[4] or 0) + 1)
call('HDEL', KEYS[2], 'assignedAgent')
call('HINCRBY', KEYS[2], 'fence', 1)
call('HSET', KEYS[2], 'status', 'pending', 'attempt', attempt, 'progress', '0', 'version', version)
call('ZREM', KEYS[7], ARGV[3])
call('ZADD', KEYS[6], task[7] or place_of(task[3], now), ARGV[3])
call('PEXPIREAT', KEYS[6], horizon)
call('HSET', roster, ARGV[3], task_line('pending', task[3], '0', '', attempt))
free(KEYS[3], ARGV[4], ARGV[3], KEYS[4], 9, ARGV[5], KEYS[7], false)
local number = tell(KEYS[8], ARGV[1], 'requeue_task', 'tasks:' .. ARGV[3], 'in_progress', 'pending', ARGV[2], version)
mark(KEYS[9], ARGV[1], 'tasks:' .. ARGV[3], number)
mark(KEYS[9], ARGV[1], 'agents:' .. ARGV[4], number)
return {'ok', version, attempt}
