-- swarm/put_memory v1: store a memory and find it by its tags from now on, and no longer by those that it had.
-- keys: swarm(rw) memory(rw) records(rw) events(w) dirty(w) swarm_outbox(w) memory_tag(rw)...
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, name, seen, agent_id, content, metadata, most_records, most_tagged, tags...
-- returns: {"ok", near} | {"gone"} | {"over", status} | {"again"}
--   | {"crowded", list, most}
-- repeat: safe

-- tags: of each key its tag, and 1 if the memory has it from now on. `seen` is the metadata that the others were read from.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
if (call('HGET', KEYS[2], 'metadata') or '') ~= ARGV[8] then return {'again'} end
local more = 1 - call('SISMEMBER', KEYS[3], 'memory:' .. ARGV[7])
for i = 7, #KEYS do
  local tag = 'tag#' .. ARGV[2 * i]
  if ARGV[2 * i + 1] == '1' then
    if call('SCARD', KEYS[i]) >= ARGV[13] + 0 and call('SISMEMBER', KEYS[i], ARGV[7]) == 0 then
      return {'crowded', tag, ARGV[13]}
    end
    more = more + 1 - call('SISMEMBER', KEYS[3], tag)
  end
end
if more > 0 and call('SCARD', KEYS[3]) + more > ARGV[12] + 0 then return {'crowded', 'records', ARGV[12]} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[6], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
-- Twice as long as the swarm, and never less than that lives.
local lives = now + 2 * ARGV[2]
if horizon + 0 > lives then lives = horizon + 0 end
lives = text(lives)
call('HSET', KEYS[2], 'agentId', ARGV[9], 'content', ARGV[10], 'timestamp', rfc3339(now))
if ARGV[11] ~= '' then call('HSET', KEYS[2], 'metadata', ARGV[11]) else call('HDEL', KEYS[2], 'metadata') end
call('PEXPIREAT', KEYS[2], lives)
call('SADD', KEYS[3], 'memory:' .. ARGV[7])
for i = 7, #KEYS do
  local tag = ARGV[2 * i]
  if ARGV[2 * i + 1] == '1' then
    call('SADD', KEYS[i], ARGV[7])
    call('PEXPIREAT', KEYS[i], lives)
    call('SADD', KEYS[3], 'tag#' .. tag)
  else
    call('SREM', KEYS[i], ARGV[7])
  end
end
call('PEXPIREAT', KEYS[3], lives)
local number = tell(KEYS[4], ARGV[5], 'put_memory', 'memory:' .. ARGV[7], '', '', ARGV[6], '0')
mark(KEYS[5], ARGV[5], 'memory:' .. ARGV[7], number)
return {'ok', near}
