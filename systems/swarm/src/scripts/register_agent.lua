-- swarm/register_agent v1: add an agent to a swarm and to its roster, unless it is there.
-- keys: swarm(rw) agent(rw) roster(rw) leases(rw) events(w) dirty(w) swarm_outbox(w) roster_shard(rw)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, agent_id, role, role_index, lease, most_listed, confidence, most_leases, fields...
-- returns: {"ok", version, near} | {"gone"} | {"over", status} | {"waits", status} | {"exists"}
--   | {"crowded", list, most} | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
-- What is not there yet may be about to come back.
if status == 'recovering' then return {'waits', status} end
if call('EXISTS', KEYS[2]) == 1 then return {'exists'} end
if call('ZCARD', KEYS[4]) >= ARGV[13] + 0 then return {'crowded', 'leases', ARGV[13]} end
local roster, shard = KEYS[3], 0
if call('HLEN', roster) >= ARGV[11] + 0 then
  roster = nil
  for i = 8, #KEYS do
    if not roster and call('HLEN', KEYS[i]) < ARGV[11] + 0 then
      roster, shard = KEYS[i], i - 7
    end
  end
  if not roster then return {'shards', #KEYS - 6, '0'} end
end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local lease = text(now + ARGV[10])
call('HSET', KEYS[2], 'role', ARGV[8], 'status', 'idle', 'confidence', ARGV[12], 'leaseUntil', rfc3339(now + ARGV[10]),
  'lease', lease, 'version', '1', 'shard', shard)
for i = 14, #ARGV, 1000 do
  call('HSET', KEYS[2], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
call('PEXPIREAT', KEYS[2], horizon)
call('HSET', roster, ARGV[7], agent_line('idle', ARGV[12], '', lease, ARGV[8]))
call('PEXPIREAT', roster, horizon)
call('ZADD', KEYS[4], lease, ARGV[7])
call('PEXPIREAT', KEYS[4], horizon)
call('HINCRBY', KEYS[1], 'agentCount', 1)
call('XADD', KEYS[7], '*', 'index', ARGV[9], 'op', 'enter', 'member', ARGV[1])
call('PEXPIRE', KEYS[7], ARGV[3])
local number = tell(KEYS[5], ARGV[5], 'register_agent', 'agents:' .. ARGV[7], '', 'idle', ARGV[6], '1')
mark(KEYS[6], ARGV[5], 'agents:' .. ARGV[7], number)
return {'ok', 1, near}
