-- swarm/update_agent v1: change an agent, and its status where that is a legal move.
-- keys: swarm(rw) agent(rw keep) roster(w keep) leases(rw) events(w) dirty(w) swarm_outbox(w) roster_shard(w keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, agent_id, lease, expected, to, from, confidence,
--   fields...
-- returns: {"ok", version, near} | {"gone"} | {"over", status} | {"unknown"} | {"conflict", version} | {"moved", status}
--   | {"shards", agents, tasks}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local had = call('HMGET', KEYS[2], 'status', 'version', 'shard', 'confidence', 'currentTask', 'role', 'lease')
local was, version, to = had[1], had[2] or '0', ARGV[10]
if not was then return {'unknown'} end
if ARGV[9] ~= '' and version ~= ARGV[9] then return {'conflict', version} end
if to ~= '' and to ~= was and not string.find(ARGV[11], ',' .. was .. ',', 1, true) then return {'moved', was} end
-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
-- include: agent.lua
-- include: list.lua
local roster = roster_of(had[3], KEYS[3], 7, #KEYS - 7)
if not roster then return {'shards', had[3], '0'} end

-- One that was moved within the last second is left where it is, and the swarm was kept alive with it.
local lease, near = had[7], ''
local is_fresh = lease and lease - now > ARGV[8] - 1000
if is_fresh then
  horizon = now + 2 * ARGV[2]
else
  near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
  lease = text(now + ARGV[8])
  call('HSET', KEYS[2], 'lease', lease, 'leaseUntil', rfc3339(now + ARGV[8]))
end
version = text(version + 1)
if to == '' then to = was end
local confidence = ARGV[12] ~= '' and ARGV[12] or had[4] or '0'
call('HSET', KEYS[2], 'version', version, 'confidence', confidence, unpack(ARGV, 13, math.min(13 + 99, #ARGV)))
if to ~= was then call('HSET', KEYS[2], 'status', to) end
-- Who has finished is waited for no longer.
local has_ended = to == 'completed' or to == 'failed'
list(roster, ARGV[7], agent_line(to, confidence, had[5], not has_ended and lease, had[6]), 'agentCount')
if has_ended then
  call('ZREM', KEYS[4], ARGV[7])
  call('HDEL', KEYS[2], 'lease')
elseif not is_fresh and call('ZADD', KEYS[4], lease, ARGV[7]) == 1 then
  call('PEXPIREAT', KEYS[4], horizon)
end
local name = 'agents:' .. ARGV[7]
mark(KEYS[6], ARGV[5], name, tell(KEYS[5], ARGV[5], 'update_agent', name, was, to, ARGV[6], version))
return {'ok', version, near}
