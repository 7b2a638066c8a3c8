-- swarm/complete_task v1: finish a task that is held, free its agent, and make ready what waited for nothing else.
-- keys: swarm(rw) agent(rw keep) roster(w keep) task_roster(w keep) ready(w) leases(rw keep) events(w) dirty(w) swarm_outbox(w)
--   task(rw keep)... roster_shard(rw keep)... task_roster_shard(rw keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, task_id, agent_id, fence, dependants, roster_shards, more...
-- returns: {"ok", version, near, made ready} | {"gone"} | {"over", status} | {"unknown"} | {"lost", status, agent, fence}
--   | {"again", dependants} | {"shards", agents, tasks}
-- repeat: unsafe

-- The first of `task` is the finished one, then come those that wait for it. more: the ids of these, then fields and values.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local own, count = KEYS[10], tonumber(ARGV[10])
local task = call('HMGET', own, 'status', 'assignedAgent', 'fence', 'priority', 'attempt', 'shard', 'version', 'since', 'dependants')
if not task[1] then return {'unknown'} end
if task[1] ~= 'in_progress' or task[2] ~= ARGV[8] or task[3] ~= ARGV[9] then
  return {'lost', task[1], task[2] or '', task[3] or '0'}
end
if (task[9] or '') ~= table.concat(ARGV, ' ', 12, 11 + count) then return {'again', task[9] or ''} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
-- include: list.lua
-- include: free.lua
local before = 10 + count
local shards = before + ARGV[11]
local lists = #KEYS - shards
local holder, furthest, waiting = call('HGET', KEYS[2], 'shard'), tonumber(task[6] or '0'), {}
for i = 1, count do
  waiting[i] = call('HMGET', KEYS[10 + i], 'status', 'priority', 'attempt', 'shard', 'place', 'version')
  furthest = math.max(furthest, tonumber(waiting[i][4] or '0'))
end
if furthest > lists or not roster_of(holder, KEYS[3], before, ARGV[11]) then return {'shards', holder or '0', furthest} end

local near = keep_alive(KEYS[1], KEYS[9], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local version = text((task[7] or 0) + 1)
call('HSET', own, 'status', 'completed', 'progress', '100', 'version', version, 'completedAt', rfc3339(now),
  'actualDuration', text((now - (task[8] or now)) / 1000))
for i = 12 + count, #ARGV, 1000 do
  call('HSET', own, unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
call('ZREM', KEYS[6], ARGV[7])
list(roster_of(task[6], KEYS[4], shards, lists), ARGV[7], task_line('completed', task[4], '100', task[2], task[5]), 'taskCount')
free(KEYS[2], ARGV[8], ARGV[7], KEYS[3], before, ARGV[11], KEYS[6], true)
local number = tell(KEYS[7], ARGV[5], 'complete_task', 'tasks:' .. ARGV[7], 'in_progress', 'completed', ARGV[6], version)
mark(KEYS[8], ARGV[5], 'tasks:' .. ARGV[7], number)
mark(KEYS[8], ARGV[5], 'agents:' .. ARGV[8], number)

local ready = 0
for i = 1, count do
  local key, id, waits = KEYS[10 + i], ARGV[11 + i], waiting[i]
  -- One that was begun, or is over, waits for nothing any more, whoever names it.
  if waits[1] == 'blocked' and call('HINCRBY', key, 'open', -1) == 0 then
    ready = ready + 1
    local next = text((waits[6] or 0) + 1)
    call('HSET', key, 'status', 'pending', 'version', next)
    call('ZADD', KEYS[5], waits[5] or place_of(waits[2], now), id)
    call('PEXPIREAT', KEYS[5], horizon)
    call('HSET', roster_of(waits[4], KEYS[4], shards, lists), id, task_line('pending', waits[2], '0', '', waits[3]))
    local number = tell(KEYS[7], ARGV[5], 'complete_task', 'tasks:' .. id, 'blocked', 'pending', ARGV[6], next)
    mark(KEYS[8], ARGV[5], 'tasks:' .. id, number)
  end
end
return {'ok', version, near, ready}
