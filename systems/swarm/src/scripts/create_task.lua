-- swarm/create_task v1: add a task, blocked while a dependency is open.
-- keys: swarm(rw) task_roster(rw) ready(rw) events(w) dirty(w) swarm_outbox(w) task(rw)... task_roster_shard(rw)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, task_id, priority, most_listed, dependencies, most_ready,
--   most_dependants, more...
-- returns: {"ok", version, near, status} | {"gone"} | {"over", status} | {"waits", status} | {"exists"}
--   | {"missing", dependency} | {"crowded", list, most} | {"shards", agents, tasks}
-- repeat: unsafe

-- The first of `task` is the new one, then come those that it waits for. more: the ids of these, then fields and values.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
-- What is not there yet may be about to come back.
if status == 'recovering' then return {'waits', status} end
local own, count = KEYS[7], tonumber(ARGV[10])
if call('EXISTS', own) == 1 then return {'exists'} end
local open = {}
for i = 1, count do
  local found = call('HMGET', KEYS[7 + i], 'status', 'dependants')
  if not found[1] then return {'missing', ARGV[12 + i]} end
  if found[1] ~= 'completed' then
    open[#open + 1] = 7 + i
    -- Whoever completes it makes all of them ready in one step.
    local _, others = string.gsub(found[2] or '', ' ', ' ')
    if others + 1 >= ARGV[12] + 0 then return {'crowded', 'dependants of ' .. ARGV[12 + i], ARGV[12]} end
  end
end
-- A blocked one comes there by itself some day.
if call('ZCARD', KEYS[3]) >= ARGV[11] + 0 then return {'crowded', 'ready', ARGV[11]} end
local roster, shard, shards = KEYS[2], 0, 7 + count
if call('HLEN', roster) >= ARGV[9] + 0 then
  roster = nil
  for i = shards + 1, #KEYS do
    if not roster and call('HLEN', KEYS[i]) < ARGV[9] + 0 then
      roster, shard = KEYS[i], i - shards
    end
  end
  if not roster then return {'shards', '0', #KEYS - shards + 1} end
end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: task.lua
local near = keep_alive(KEYS[1], KEYS[6], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
-- Claims are numbered from the time on: of a task that was lost and is created again, no earlier claim has such a number.
local becomes, place = #open > 0 and 'blocked' or 'pending', place_of(ARGV[8], now)
call('HSET', own, 'status', becomes, 'priority', ARGV[8], 'progress', '0', 'createdAt', rfc3339(now), 'attempt', '0',
  'fence', text(now), 'version', '1', 'shard', shard, 'place', place, 'open', #open)
for i = 13 + count, #ARGV, 1000 do
  call('HSET', own, unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
call('PEXPIREAT', own, horizon)
for _, at in ipairs(open) do
  local others = call('HGET', KEYS[at], 'dependants')
  call('HSET', KEYS[at], 'dependants', others and others .. ' ' .. ARGV[7] or ARGV[7])
end
call('HSET', roster, ARGV[7], task_line(becomes, ARGV[8], '0', '', '0'))
call('PEXPIREAT', roster, horizon)
if becomes == 'pending' then
  call('ZADD', KEYS[3], place, ARGV[7])
  call('PEXPIREAT', KEYS[3], horizon)
end
call('HINCRBY', KEYS[1], 'taskCount', 1)
local number = tell(KEYS[4], ARGV[5], 'create_task', 'tasks:' .. ARGV[7], '', becomes, ARGV[6], '1')
mark(KEYS[5], ARGV[5], 'tasks:' .. ARGV[7], number)
return {'ok', 1, near, becomes}
