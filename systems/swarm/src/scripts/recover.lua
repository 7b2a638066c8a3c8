-- swarm/recover v1: bring back some records that are missing, under the lock, and what lists them.
-- keys: lock_fence(r) swarm(rw) ready(w) leases(rw) records(w) events(w) dirty(w) swarm_outbox(w)
--   roster(rw)... task_roster(rw)... roster_shard(rw)... task_roster_shard(rw)... memory_tag(rw)... agent(rw)... consensus(rw)...
--   memory(rw)... phase(rw)... task(rw)...
-- args: fence, id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, steps...
-- returns: {"ok", records restored, agents made idle} | {"fenced"} | {"gone"}
-- repeat: safe

-- steps: header n field value ... | hash key name n field value ... | line key field value | tag key member
--   | ready key score task | records member | note index | idle key roster agent. `key` is a place among the keys, n counts fields and values. A record
--   that is there is left alone.
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return {'fenced'} end
local at, restored, idle, is_new = 8, 0, 0, false

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
keep_alive(KEYS[2], KEYS[8], ARGV[3], ARGV[4], ARGV[5], ARGV[2])
local lives = text(math.max(now + 2 * ARGV[3], horizon + 0))

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
return {'ok', restored, idle}
