-- swarm/heartbeat_agent v1: move an agent's deadline, and that of the task it works on.
-- keys: swarm(rw) agent(rw keep) roster(w keep) leases(w) swarm_outbox(w) roster_shard(w keep)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, agent_id, lease, task_lease
-- returns: {"ok", version, near} | {"gone"} | {"over", status} | {"unknown"} | {"shards", agents, tasks}
-- repeat: safe

local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local agent = call('HMGET', KEYS[2], 'status', 'confidence', 'currentTask', 'role', 'shard', 'version')
if not agent[1] then return {'unknown'} end
-- include: clock.lua
-- include: alive.lua
-- include: agent.lua
-- include: list.lua
local roster = roster_of(agent[5], KEYS[3], 5, #KEYS - 5)
if not roster then return {'shards', agent[5], '0'} end

local near = keep_alive(KEYS[1], KEYS[5], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local lease = ''
-- Who has finished is waited for no longer.
if agent[1] ~= 'completed' and agent[1] ~= 'failed' then
  lease = text(now + ARGV[6])
  call('HSET', KEYS[2], 'lease', lease, 'leaseUntil', rfc3339(now + ARGV[6]))
  if call('ZADD', KEYS[4], lease, ARGV[5]) == 1 then call('PEXPIREAT', KEYS[4], horizon) end
end
list(roster, ARGV[5], agent_line(agent[1], agent[2], agent[3], lease, agent[4]), 'agentCount')
-- Only what it holds: a task that was taken back is nobody's, or another's.
if agent[3] then call('ZADD', KEYS[4], 'XX', 'GT', text(now + ARGV[7]), agent[3]) end
return {'ok', agent[6] or '0', near}
