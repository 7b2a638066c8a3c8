-- swarm/update_phase v1: create a phase, or change it and move it on.
-- keys: swarm(rw) phase(rw) records(rw) events(w) dirty(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, phase_id, expected, to, from, most_runs, most_records,
--   metrics, fields...
-- returns: {"ok", version, near} | {"gone"} | {"over", status} | {"waits", status} | {"conflict", version}
--   | {"moved", status} | {"runs", so far} | {"crowded", list, most}
-- repeat: unsafe

-- `expected` is 0 for a new one. metrics: of one that ends, a JSON object to which its duration is added. Levels 2 and 3 of the loop run at most `most_runs` times.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
local phase = call('HMGET', KEYS[2], 'status', 'version', 'loopLevel', 'iteration', 'since')
local was, version, runs, to = phase[1], phase[2] or '0', tonumber(phase[4] or '0'), ARGV[9]
-- What is not there yet may be about to come back.
if not was and status == 'recovering' then return {'waits', status} end
if ARGV[8] ~= '' and version ~= ARGV[8] then return {'conflict', version} end
if was and to ~= '' and to ~= was and not string.find(ARGV[10], ',' .. was .. ',', 1, true) then return {'moved', was} end
local begins = to == 'active' and was ~= 'active'
if begins and (phase[3] == '2' or phase[3] == '3') and runs >= ARGV[11] + 0 then return {'runs', runs} end
if not was and call('SCARD', KEYS[3]) >= ARGV[12] + 0 then return {'crowded', 'records', ARGV[12]} end

-- include: clock.lua
-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[6], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
if to == '' then to = was or 'pending' end
version = text(version + 1)
call('HSET', KEYS[2], 'status', to, 'version', version, 'iteration', text(begins and runs + 1 or runs))
for i = 14, #ARGV, 1000 do
  call('HSET', KEYS[2], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
if not was then
  call('PEXPIREAT', KEYS[2], horizon)
  call('SADD', KEYS[3], 'phases:' .. ARGV[7])
  call('PEXPIREAT', KEYS[3], horizon)
end
if begins then
  call('HSET', KEYS[1], 'currentPhase', ARGV[7])
  call('HSET', KEYS[2], 'since', text(now))
elseif ARGV[13] ~= '' then
  local lasted = text(math.floor((now - (phase[5] or now)) / 1000))
  call('HSET', KEYS[2], 'metrics', '{"duration":' .. lasted .. ',' .. string.sub(ARGV[13], 2))
end
local number = tell(KEYS[4], ARGV[5], 'update_phase', 'phases:' .. ARGV[7], was, to, ARGV[6], version)
mark(KEYS[5], ARGV[5], 'phases:' .. ARGV[7], number)
return {'ok', version, near}
