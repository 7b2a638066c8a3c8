-- swarm/complete_swarm v1: end a running swarm, when nobody works on a task any more and none waits or is blocked.
-- keys: swarm(rw) ready(r) leases(r) task_roster(r) events(w) dirty(w) swarm_outbox(w) task_roster_shard(r)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, left_index, status_index
-- returns: {"ok", version, near} | {"gone"} | {"moved", status} | {"open", tasks that wait, tasks under way}
--   | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if status ~= 'running' then return {'moved', status} end
-- Whatever is counted, the last roster is the one behind which none was begun.
if #KEYS < 8 or call('HLEN', KEYS[#KEYS]) > 0 then return {'shards', '0', #KEYS - 6} end
-- The rosters tell of those that are blocked too; a task that was typed is in none.
local listed = {pending = 0, blocked = 0, in_progress = 0}
local function count(roster)
  for _, line in ipairs(call('HVALS', roster)) do
    local word = string.match(line, '^[^|]*')
    if listed[word] then listed[word] = listed[word] + 1 end
  end
end
count(KEYS[4])
for i = 8, #KEYS do
  count(KEYS[i])
end
local waiting, under_way = math.max(listed.pending, call('ZCARD', KEYS[2])) + listed.blocked, 0
for _, member in ipairs(call('ZRANGE', KEYS[3], 0, -1)) do
  if string.sub(member, 1, 5) == 'task_' then under_way = under_way + 1 end
end
under_way = math.max(under_way, listed.in_progress)
if waiting > 0 or under_way > 0 then return {'open', waiting, under_way} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local version = call('HINCRBY', KEYS[1], 'version', 1)
call('HSET', KEYS[1], 'status', 'completed')
call('XADD', KEYS[7], '*', 'index', ARGV[7], 'op', 'leave', 'member', ARGV[1])
call('XADD', KEYS[7], '*', 'index', ARGV[8], 'op', 'enter', 'member', ARGV[1])
call('XADD', KEYS[7], '*', 'index', ARGV[4], 'op', 'leave', 'member', ARGV[1])
local number = tell(KEYS[5], ARGV[5], 'complete_swarm', 'header', status, 'completed', ARGV[6], version)
mark(KEYS[6], ARGV[5], 'header', number)
return {'ok', version, near}
