-- swarm/put_blob v1: keep a piece of a result that has no room in its task's key, for whoever holds the task.
-- keys: swarm(rw) task(r) blob(w) records(rw) events(w) dirty(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, agent_id, fence, name, most_records, piece
-- returns: {"ok", near} | {"gone"} | {"over", status} | {"unknown"} | {"lost", status, agent, fence} | {"crowded", list, most}
-- repeat: safe

-- name: by all that it is a piece of. Whoever puts it again puts the same.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local task = call('HMGET', KEYS[2], 'status', 'assignedAgent', 'fence')
if not task[1] then return {'unknown'} end
if task[1] ~= 'in_progress' or task[2] ~= ARGV[7] or task[3] ~= ARGV[8] then
  return {'lost', task[1], task[2] or '', task[3] or '0'}
end
if call('SCARD', KEYS[4]) >= ARGV[10] + 0 and call('SISMEMBER', KEYS[4], ARGV[9]) == 0 then
  return {'crowded', 'records', ARGV[10]}
end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[7], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
call('HSET', KEYS[3], 'piece', ARGV[11])
call('PEXPIREAT', KEYS[3], horizon)
call('SADD', KEYS[4], ARGV[9])
call('PEXPIREAT', KEYS[4], horizon)
mark(KEYS[6], ARGV[5], ARGV[9], tell(KEYS[5], ARGV[5], 'put_blob', ARGV[9], '', '', ARGV[6], '0'))
return {'ok', near}
