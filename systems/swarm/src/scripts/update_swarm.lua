-- swarm/update_swarm v1: change fields of the header, and its status where that is a legal move.
-- keys: swarm(rw) events(w) dirty(w) swarm_outbox(w) lock_fence(r)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, expected, to, from, seen, left_index, status_index,
--   fence, fields...
-- returns: {"ok", version, near} | {"gone"} | {"over", status} | {"waits", status} | {"fenced"} | {"conflict", version}
--   | {"moved", status} | {"index", status}
-- repeat: unsafe

-- `fence` is that of the lock, where the caller holds it. `seen` is the status whose index it is to leave.
local call = redis.call
-- include: swarm.lua
if ARGV[13] ~= '' and call('GET', KEYS[5]) ~= ARGV[13] then return {'fenced'} end
local version, to = head[3] or '0', ARGV[8]
local moves = to ~= '' and to ~= status
-- What has ended may go on where the contract lets it, and changes in nothing else.
if is_over and not moves then return {'over', status} end
if ARGV[7] ~= '' and version ~= ARGV[7] then return {'conflict', version} end
if moves and not string.find(ARGV[9], ',' .. status .. ',', 1, true) then return {'moved', status} end
-- Whoever put it together says when it runs: one that runs with gaps would be saved with them.
if status == 'recovering' and to == 'running' and ARGV[13] == '' then return {'waits', status} end
if moves and ARGV[10] ~= status then return {'index', status} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[4], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
version = text(version + 1)
if to == '' then to = status end
if ARGV[13] ~= '' then call('HSET', KEYS[1], 'fence', ARGV[13]) end
call('HSET', KEYS[1], 'version', version, 'status', to, unpack(ARGV, 14, math.min(14 + 99, #ARGV)))
if moves then
  call('XADD', KEYS[4], '*', 'index', ARGV[11], 'op', 'leave', 'member', ARGV[1])
  call('XADD', KEYS[4], '*', 'index', ARGV[12], 'op', 'enter', 'member', ARGV[1])
  if to == 'completed' or to == 'failed' then
    call('XADD', KEYS[4], '*', 'index', ARGV[4], 'op', 'leave', 'member', ARGV[1])
  elseif is_over then
    call('HSET', KEYS[1], 'updatedAt', rfc3339(now))
    call('XADD', KEYS[4], '*', 'index', ARGV[4], 'op', 'enter', 'member', ARGV[1], 'score', clock[1])
  end
end
local number = tell(KEYS[2], ARGV[5], 'update_swarm', 'header', status, to, ARGV[6], version)
mark(KEYS[3], ARGV[5], 'header', number)
return {'ok', version, near}
