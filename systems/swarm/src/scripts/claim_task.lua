-- swarm/claim_task v1: take the first of some tasks that can still be claimed, under a lease and with a new fence number.
-- keys: swarm(rw) agent(rw keep) roster(w keep) task_roster(w keep) ready(rw keep) leases(rw) events(w) dirty(w) swarm_outbox(w)
--   task(rw keep)... roster_shard(rw keep)... task_roster_shard(rw keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, agent_id, lease, roster_shards, most_leases, tasks...
-- returns: {"ok", task, fence, attempt, lease end, near} | {"gone"} | {"over", status} | {"waits", status} | {"unknown"}
--   | {"holds", task, fence, attempt, lease end} | {"busy", task} | {"idle", status} | {"none", how many can be claimed}
--   | {"crowded", list, most} | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
if status ~= 'running' then return {'waits', status} end
local agent = call('HMGET', KEYS[2], 'status', 'currentTask', 'confidence', 'role', 'shard', 'version')
if not agent[1] then return {'unknown'} end
-- include: clock.lua
if agent[2] then
  -- It may not have heard that it has this one. Whether it does is seen where that is among the tasks given.
  local is_its, task = true, nil
  for i = 11, #ARGV do
    if ARGV[i] == agent[2] then
      task = call('HMGET', KEYS[i - 1], 'status', 'assignedAgent', 'fence', 'attempt')
      is_its = task[1] == 'in_progress' and task[2] == ARGV[7]
    end
  end
  local lease = call('ZSCORE', KEYS[6], agent[2])
  if task and is_its and lease and lease + 0 > now then return {'holds', agent[2], task[3] or '0', task[4] or '0', lease} end
  if is_its then return {'busy', agent[2]} end
end
if agent[1] == 'completed' or agent[1] == 'failed' or agent[1] == 'paused' then return {'idle', agent[1]} end

local id, key, task
for i = 11, #ARGV do
  if not id and call('ZSCORE', KEYS[5], ARGV[i]) then
    task = call('HMGET', KEYS[i - 1], 'priority', 'progress', 'attempt', 'shard', 'version', 'startedAt', 'status')
    if task[7] == 'pending' then
      id, key = ARGV[i], KEYS[i - 1]
    else
      -- Its record is gone, or somebody has put it there by hand.
      call('ZREM', KEYS[5], ARGV[i])
    end
  end
end
if not id then return {'none', call('ZCARD', KEYS[5])} end
if call('ZCARD', KEYS[6]) >= ARGV[10] + 0 then return {'crowded', 'leases', ARGV[10]} end

-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
-- include: list.lua
local before = #ARGV - 1
local roster = roster_of(agent[5], KEYS[3], before, ARGV[9])
local tasks = roster_of(task[4], KEYS[4], before + ARGV[9], #KEYS - before - ARGV[9])
if not roster or not tasks then return {'shards', agent[5] or '0', task[4] or '0'} end

local near = keep_alive(KEYS[1], KEYS[9], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local lease = text(now + ARGV[8])
local fence, version = call('HINCRBY', key, 'fence', 1), text((task[5] or 0) + 1)
call('HSET', key, 'status', 'in_progress', 'assignedAgent', ARGV[7], 'version', version, 'since', text(now),
  'startedAt', task[6] or rfc3339(now))
call('ZREM', KEYS[5], id)
call('ZADD', KEYS[6], lease, id)
call('PEXPIREAT', KEYS[6], horizon)
list(tasks, id, task_line('in_progress', task[1], task[2], ARGV[7], task[3]), 'taskCount')
call('HSET', KEYS[2], 'status', 'busy', 'currentTask', id, 'assignedTasks', '["' .. id .. '"]',
  'version', text((agent[6] or 0) + 1))
list(roster, ARGV[7], agent_line('busy', agent[3], id, call('ZSCORE', KEYS[6], ARGV[7]), agent[4]), 'agentCount')
local number = tell(KEYS[7], ARGV[5], 'claim_task', 'tasks:' .. id, 'pending', 'in_progress', ARGV[6], version)
mark(KEYS[8], ARGV[5], 'tasks:' .. id, number)
mark(KEYS[8], ARGV[5], 'agents:' .. ARGV[7], number)
return {'ok', id, fence, task[3] or '0', lease, near}
