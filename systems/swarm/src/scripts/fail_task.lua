-- swarm/fail_task v1: give up a task that is held, for good or to be tried again by whoever comes.
-- keys: swarm(rw) task(rw keep) agent(rw keep) roster(w keep) task_roster(w keep) ready(w) leases(rw keep) events(w) dirty(w)
--   swarm_outbox(w) roster_shard(w keep)... task_roster_shard(w keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, task_id, agent_id, fence, again, roster_shards, fields...
-- returns: {"ok", version, near, attempt} | {"gone"} | {"over", status} | {"unknown"} | {"lost", status, agent, fence}
--   | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local task = call('HMGET', KEYS[2], 'status', 'assignedAgent', 'fence', 'priority', 'attempt', 'shard', 'version', 'place',
  'progress')
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
-- include: free.lua
local roster, holder = roster_of(task[6], KEYS[5], 10 + ARGV[11], #KEYS - 10 - ARGV[11]), call('HGET', KEYS[3], 'shard')
if not roster or not roster_of(holder, KEYS[4], 10, ARGV[11]) then return {'shards', holder or '0', task[6] or '0'} end

local near = keep_alive(KEYS[1], KEYS[10], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local becomes, attempt, progress = 'failed', task[5] or '0', task[9] or '0'
if ARGV[10] == '1' then
  -- Whoever comes begins anew.
  becomes, attempt, progress = 'pending', text(attempt + 1), '0'
  call('ZADD', KEYS[6], task[8] or place_of(task[4], now), ARGV[7])
  call('PEXPIREAT', KEYS[6], horizon)
end
local version = text((task[7] or 0) + 1)
call('HDEL', KEYS[2], 'assignedAgent')
call('HSET', KEYS[2], 'status', becomes, 'attempt', attempt, 'progress', progress, 'version', version,
  unpack(ARGV, 12, math.min(12 + 99, #ARGV)))
call('ZREM', KEYS[7], ARGV[7])
list(roster, ARGV[7], task_line(becomes, task[4], progress, '', attempt), 'taskCount')
free(KEYS[3], ARGV[8], ARGV[7], KEYS[4], 10, ARGV[11], KEYS[7], false)
local number = tell(KEYS[8], ARGV[5], 'fail_task', 'tasks:' .. ARGV[7], 'in_progress', becomes, ARGV[6], version)
mark(KEYS[9], ARGV[5], 'tasks:' .. ARGV[7], number)
mark(KEYS[9], ARGV[5], 'agents:' .. ARGV[8], number)
return {'ok', version, near, attempt}
