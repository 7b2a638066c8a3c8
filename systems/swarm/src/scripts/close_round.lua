-- swarm/close_round v1: close a round as it was judged, if that was after its time or with all votes, and no vote came since.
-- keys: swarm(rw) consensus(rw keep) events(w) dirty(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, most, by, round, expected, is_complete, to, score, votes, decision
-- returns: {"ok", version, near} | {"gone"} | {"unknown"} | {"conflict", version} | {"closed", status} | {"early", closes at}
-- repeat: unsafe

local call = redis.call
-- include: swarm.lua
local round = call('HMGET', KEYS[2], 'status', 'version', 'closesAt')
if not round[1] then return {'unknown'} end
if round[1] == 'achieved' or round[1] == 'failed' then return {'closed', round[1]} end
if (round[2] or '0') ~= ARGV[8] then return {'conflict', round[2] or '0'} end
-- include: clock.lua
local at = rfc3339(now)
if ARGV[9] ~= '1' and round[3] and at < round[3] then return {'early', round[3]} end

-- include: alive.lua
-- include: tell.lua
local near = keep_alive(KEYS[1], KEYS[5], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
local version = text(ARGV[8] + 1)
call('HSET', KEYS[2], 'status', ARGV[10], 'version', version, 'currentConfidence', ARGV[11], 'votes', ARGV[12],
  'decision', ARGV[13], 'closedAt', at)
local number = tell(KEYS[3], ARGV[5], 'close_round', 'consensus:' .. ARGV[7], round[1], ARGV[10], ARGV[6], version)
mark(KEYS[4], ARGV[5], 'consensus:' .. ARGV[7], number)
return {'ok', version, near}
