-- swarm/remove_swarm v1: remove some children of a finished swarm; with the last of them all that is left of it.
-- keys: lock_fence(r) checkpoints(r) swarm(rw) roster(rw) task_roster(rw) ready(w) leases(w) performance_current(w) records(rw)
--   dirty(w) events(w) swarm_outbox(w) agent(w)... task(w)... phase(w)... memory(w)... memory_tag(w)... consensus(w)...
--   vote_log(w)... performance(w)... blob(w)... roster_shard(rw)... task_roster_shard(rw)...
-- args: fence, id, ttl(swarm_outbox), is_last, indexes...
-- returns: {"ok", keys removed} | {"fenced"} | {"gone"} | {"moved", status} | {"unsaved"}
-- repeat: safe

-- Checkpoints stay their seven days. indexes: those that it is still in.
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return {'fenced'} end
local status = call('HGET', KEYS[3], 'status')
if not status then return {'gone'} end
if status ~= 'completed' and status ~= 'failed' then return {'moved', status} end
if call('ZCARD', KEYS[2]) == 0 then return {'unsaved'} end

local removed = 0
for i = 13, #KEYS do
  removed = removed + call('UNLINK', KEYS[i])
end
if ARGV[4] == '1' then
  removed = removed + call('UNLINK', KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[3])
  for i = 5, #ARGV do
    call('XADD', KEYS[12], '*', 'index', ARGV[i], 'op', 'leave', 'member', ARGV[2])
  end
  call('PEXPIRE', KEYS[12], ARGV[3])
end
return {'ok', removed}
