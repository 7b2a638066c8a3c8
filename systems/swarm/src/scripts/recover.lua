-- swarm/recover v1: bring back some records that are missing, under the lock, and what lists them.
-- keys: lock_fence(r) swarm(rw) ready(w) leases(rw) records(w) events(w) dirty(w) swarm_outbox(w)
--   roster(rw)... task_roster(rw)... roster_shard(rw)... task_roster_shard(rw)... memory_tag(rw)... agent(rw)... blob(rw)...
--   consensus(rw)... memory(rw)... phase(rw)... task(rw)...
-- args: fence, id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, steps...
-- returns: {"ok", records restored, agents made idle, tasks taken back} | {"fenced"} | {"gone"}
-- repeat: safe

-- steps: header n field value ... | hash key name n field value ... | line key field value | tag key member
--   | ready key score task | records member | note index | idle key roster agent | settle key roster score task n (key task) ...
--   | free key roster score task holder | gone key lists id name | count shards of agents, of tasks. `key` and `roster` are places among the keys, n counts
--   fields and values, or tasks that are waited for; `lists` is the last of the rosters. A record that is there is left alone.
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return {'fenced'} end
local at, restored, idle, is_new, freed = 8, 0, 0, false, {}

local function restore(key, first, last)
  for i = first, last, 1000 do
    call('HSET', key, unpack(ARGV, i, math.min(i + 999, last)))
  end
  restored = restored + 1
end

-- The header first: everything else lives as long as it says.
if ARGV[at] == 'header' then
  local last = at + 1 + ARGV[at + 1]
  if call('EXISTS', KEYS[2]) == 0 then restore(KEYS[2], at + 2, last) end
  at = last + 1
end
local status, horizon = call('HGET', KEYS[2], 'status'), call('HGET', KEYS[2], 'horizon')
if not status then return {'gone'} end
-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: task.lua
keep_alive(KEYS[2], KEYS[8], ARGV[3], ARGV[4], ARGV[5], ARGV[2])
local lives = text(math.max(now + 2 * ARGV[3], horizon + 0))

-- A task that somebody may claim from now on.
local function make_pending(key, roster, score, id, task, from)
  local version = text((task.version or 0) + 1)
  call('HSET', key, 'status', 'pending', 'version', version)
  call('HSET', roster, id, task_line('pending', task.priority, '0', '', task.attempt))
  call('PEXPIREAT', roster, lives)
  call('ZADD', KEYS[3], score, id)
  call('PEXPIREAT', KEYS[3], lives)
  mark(KEYS[7], ARGV[6], 'tasks:' .. id, tell(KEYS[6], ARGV[6], 'recover', 'tasks:' .. id, from, 'pending', ARGV[7], version))
end

-- A task that waits for others waits for those of them that are not completed now, whatever was known of it; and these know.
local function settle(first, last, key, roster, score, id)
  local had = call('HMGET', key, 'status', 'open', 'priority', 'attempt', 'version')
  if had[1] ~= 'blocked' then return end
  local open = 0
  for i = first, last, 2 do
    local other, name = KEYS[tonumber(ARGV[i])], 'tasks:' .. ARGV[i + 1]
    local found = call('HMGET', other, 'status', 'dependants', 'version')
    if found[1] ~= 'completed' then
      open = open + 1
      local waiting = found[2] or ''
      if found[1] and not string.find(' ' .. waiting .. ' ', ' ' .. id .. ' ', 1, true) then
        call('HSET', other, 'dependants', waiting == '' and id or waiting .. ' ' .. id)
        local number = tell(KEYS[6], ARGV[6], 'recover', name, found[1], found[1], ARGV[7], found[3] or '0')
        mark(KEYS[7], ARGV[6], name, number)
      end
    end
  end
  local is_told = had[2] == text(open)
  if not is_told then call('HSET', key, 'open', text(open)) end
  if open == 0 then
    make_pending(key, roster, score, id, {priority = had[3], attempt = had[4], version = had[5]}, 'blocked')
  elseif not is_told then
    local number = tell(KEYS[6], ARGV[6], 'recover', 'tasks:' .. id, 'blocked', 'blocked', ARGV[7], had[5] or '0')
    mark(KEYS[7], ARGV[6], 'tasks:' .. id, number)
  end
end

-- A task under way without a holder that could be asked, or report: nobody else takes it back.
local function free(key, roster, score, id, holder)
  local had = call('HMGET', key, 'status', 'assignedAgent', 'priority', 'attempt', 'version')
  local lease = call('ZSCORE', KEYS[4], id)
  if had[1] ~= 'in_progress' or (had[2] or '') ~= holder or (lease and lease + 0 > now) then return end
  local attempt = text((had[4] or 0) + 1)
  call('HDEL', key, 'assignedAgent')
  call('HINCRBY', key, 'fence', 1)
  call('HSET', key, 'attempt', attempt, 'progress', '0')
  call('ZREM', KEYS[4], id)
  make_pending(key, roster, score, id, {priority = had[3], attempt = attempt, version = had[5]}, 'in_progress')
  freed[#freed + 1] = id
end

-- Lines of a plain roster and of the shards between.
local function lines(plain, first, last)
  local count = call('HLEN', plain)
  for i = first, last do
    count = count + call('HLEN', KEYS[i])
  end
  return count
end

local step = ARGV[at]
while step do
  if step == 'hash' then
    local key, name, last = KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2], at + 3 + ARGV[at + 3]
    is_new = call('EXISTS', key) == 0
    if is_new then
      restore(key, at + 4, last)
      call('PEXPIREAT', key, lives)
      mark(KEYS[7], ARGV[6], name, tell(KEYS[6], ARGV[6], 'recover', name, '', '', ARGV[7], '0'))
    end
    at = last + 1
  elseif step == 'line' then
    local key = KEYS[tonumber(ARGV[at + 1])]
    -- Of the record before it, if that came back; else only where none is.
    if is_new then call('HSET', key, ARGV[at + 2], ARGV[at + 3]) else call('HSETNX', key, ARGV[at + 2], ARGV[at + 3]) end
    is_new = false
    call('PEXPIREAT', key, lives)
    at = at + 4
  elseif step == 'tag' then
    local key = KEYS[tonumber(ARGV[at + 1])]
    call('SADD', key, ARGV[at + 2])
    call('PEXPIREAT', key, lives)
    at = at + 3
  elseif step == 'ready' then
    -- Unless somebody has claimed it since it was looked at: then it is under way, or done.
    if call('HGET', KEYS[tonumber(ARGV[at + 1])], 'status') == 'pending' then
      call('ZADD', KEYS[3], ARGV[at + 2], ARGV[at + 3])
      call('PEXPIREAT', KEYS[3], lives)
    end
    at = at + 4
  elseif step == 'records' then
    call('SADD', KEYS[5], ARGV[at + 1])
    call('PEXPIREAT', KEYS[5], lives)
    at = at + 2
  elseif step == 'note' then
    call('XADD', KEYS[8], '*', 'index', ARGV[at + 1], 'op', 'enter', 'member', ARGV[2])
    call('PEXPIRE', KEYS[8], ARGV[4])
    at = at + 2
  elseif step == 'settle' then
    local last = at + 5 + 2 * ARGV[at + 5]
    settle(at + 6, last, KEYS[tonumber(ARGV[at + 1])], KEYS[tonumber(ARGV[at + 2])], ARGV[at + 3], ARGV[at + 4])
    at = last + 1
  elseif step == 'free' then
    free(KEYS[tonumber(ARGV[at + 1])], KEYS[tonumber(ARGV[at + 2])], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
    at = at + 6
  elseif step == 'gone' then
    -- Listed, and nowhere: whoever looks for work, or for what is open, would meet it for good.
    if call('EXISTS', KEYS[tonumber(ARGV[at + 1])]) == 0 then
      local id, name = ARGV[at + 3], ARGV[at + 4]
      for i = 9, tonumber(ARGV[at + 2]) do
        call('HDEL', KEYS[i], id)
      end
      call('ZREM', KEYS[3], id)
      call('ZREM', KEYS[4], id)
      call('SREM', KEYS[5], name)
      mark(KEYS[7], ARGV[6], name, tell(KEYS[6], ARGV[6], 'recover', name, '', 'gone', ARGV[7], '0'))
    end
    at = at + 5
  elseif step == 'count' then
    local agents, tasks = ARGV[at + 1] + 0, ARGV[at + 2] + 0
    call('HSET', KEYS[2], 'agentCount', lines(KEYS[9], 11, 10 + agents),
      'taskCount', lines(KEYS[10], 11 + agents, 10 + agents + tasks))
    at = at + 3
  else
    -- idle: an agent that holds no task. What it holds under a lease it may finish.
    local key, roster, id = KEYS[tonumber(ARGV[at + 1])], KEYS[tonumber(ARGV[at + 2])], ARGV[at + 3]
    local had = call('HMGET', key, 'status', 'currentTask', 'confidence', 'role', 'version')
    local works = had[2] and call('ZSCORE', KEYS[4], had[2])
    if had[1] and not works and had[1] ~= 'idle' and had[1] ~= 'completed' and had[1] ~= 'paused' then
      local version = text((had[5] or 0) + 1)
      call('HDEL', key, 'currentTask', 'assignedTasks')
      call('HSET', key, 'status', 'idle', 'version', version)
      call('HSET', roster, id, agent_line('idle', had[3], '', call('ZSCORE', KEYS[4], id), had[4]))
      call('PEXPIREAT', roster, lives)
      local name = 'agents:' .. id
      mark(KEYS[7], ARGV[6], name, tell(KEYS[6], ARGV[6], 'recover', name, had[1], 'idle', ARGV[7], version))
      idle = idle + 1
    end
    at = at + 4
  end
  step = ARGV[at]
end
return {'ok', restored, idle, table.concat(freed, ' ')}
