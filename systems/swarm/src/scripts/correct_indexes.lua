-- swarm/correct_indexes v1: note where a swarm belongs, unless it has changed since it was looked at. Not activity.
-- keys: swarm(r) swarm_outbox(w)
-- args: id, ttl(swarm_outbox), seen, agents, notes...
-- returns: {"ok", how many notes} | {"gone"} | {"changed", status}
-- repeat: safe

-- seen, agents: status and count of agents as they were looked at. notes: an index, enter or leave, and a score.
local call = redis.call
-- include: swarm.lua
if status ~= ARGV[3] or (call('HGET', KEYS[1], 'agentCount') or '') ~= ARGV[4] then return {'changed', status} end
for i = 5, #ARGV, 3 do
  call('XADD', KEYS[2], '*', 'index', ARGV[i], 'op', ARGV[i + 1], 'member', ARGV[1], 'score', ARGV[i + 2])
end
call('PEXPIRE', KEYS[2], ARGV[2])
return {'ok', (#ARGV - 4) / 3}
