-- swarm/roll_up v1: keep a swarm's scores, and send those that have changed to the performance indexes. Not activity.
-- keys: swarm(r) performance_current(rw) swarm_outbox(w)
-- args: id, ttl(performance_current), ttl(swarm_outbox), scores...
-- returns: {"ok", how many have changed} | {"gone"} | {"over", status}
-- repeat: safe

-- scores: a time window, its index, and the score, or nothing where there is none any more.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
-- include: clock.lua
local changed = 0
for i = 4, #ARGV, 3 do
  local field, index, score = 'score:' .. ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if (call('HGET', KEYS[2], field) or '') ~= score then
    changed = changed + 1
    if score == '' then
      call('HDEL', KEYS[2], field)
      call('XADD', KEYS[3], '*', 'index', index, 'op', 'leave', 'member', ARGV[1])
    else
      call('HSET', KEYS[2], field, score, 'updatedAt', rfc3339(now))
      call('XADD', KEYS[3], '*', 'index', index, 'op', 'enter', 'member', ARGV[1], 'score', score)
    end
  end
end
call('PEXPIRE', KEYS[2], ARGV[2])
if changed > 0 then call('PEXPIRE', KEYS[3], ARGV[3]) end
return {'ok', changed}
