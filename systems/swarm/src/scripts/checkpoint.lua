-- swarm/checkpoint v1: store a checkpoint under the next number that is free, and forget the marks that it covers. Not activity.
-- keys: swarm(rw keep) recovery(rw) checkpoints(rw) dirty(rw keep) events(w) checkpoint_chunk(w)...
-- args: ttl(recovery), ttl(checkpoints), most, by, checkpoint_id, seq, covered, seen, so_far, ttl(swarm), after,
--   more...
-- returns: {"ok", at} | {"gone"} | {"waits", status} | {"exists"} | {"seq", newest}
-- repeat: unsafe

-- after: the number of the newest one, upon which this one stands. seen: the header's `recovery` before the state was read; it
-- changes with every checkpoint and every recovery. so_far: the rest of it, behind the time of this one. more: the chunks, as
-- many as there are keys for them, then fields and values.
local call = redis.call
-- include: swarm.lua
-- A state that is just being put together has gaps, and one that was read before a recovery is of another life.
if status == 'recovering' then return {'waits', status} end
if call('EXISTS', KEYS[2]) == 1 then return {'exists'} end
local newest = call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2] or '0'
if math.floor(newest) ~= ARGV[11] + 0 or (call('HGET', KEYS[1], 'recovery') or '') ~= ARGV[8] then return {'seq', newest} end

-- include: clock.lua
horizon = now + 2 * ARGV[10]
-- include: tell.lua
local chunks, at = #KEYS - 5, rfc3339(now)
for i = 1, chunks do
  call('SET', KEYS[5 + i], ARGV[11 + i], 'PX', ARGV[1])
end
call('HSET', KEYS[2], 'timestamp', at, 'seq', ARGV[6], 'chunks', chunks)
for i = 12 + chunks, #ARGV, 1000 do
  call('HSET', KEYS[2], unpack(ARGV, i, math.min(i + 999, #ARGV)))
end
call('PEXPIRE', KEYS[2], ARGV[1])
call('ZADD', KEYS[3], ARGV[6], ARGV[5])
-- While one is pinned the list has no end.
if newest == '0' or call('PTTL', KEYS[3]) > 0 then call('PEXPIRE', KEYS[3], ARGV[2]) end
call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[7])
call('HSET', KEYS[1], 'recovery', '{"enabled":true,"lastCheckpoint":"' .. at .. '",' .. ARGV[9])
tell(KEYS[5], ARGV[3], 'checkpoint', 'header', status, status, ARGV[4], '0')
return {'ok', at}
