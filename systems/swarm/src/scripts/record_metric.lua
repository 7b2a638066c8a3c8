-- swarm/record_metric v1: add samples of a metric, drop what is older than a day or too much, and keep the newest value.
-- keys: swarm(rw) performance(rw) performance_current(w) swarm_outbox(w)
-- args: id, ttl(swarm), ttl(swarm_outbox), active_index, ttl(performance), ttl(performance_current), most, metric, samples...
-- returns: {"ok", samples kept, near} | {"gone"} | {"over", status} | {"single"} | {"old", at, oldest}
-- repeat: unsafe

-- samples: a time in Unix milliseconds, or nothing for now, and a value.
local call = redis.call
-- include: swarm.lua
if is_over then return {'over', status} end
-- The seed allows a hash with the current value there.
local kind = call('TYPE', KEYS[2]).ok
if kind ~= 'zset' and kind ~= 'none' then return {'single'} end
-- include: clock.lua
local oldest = now - ARGV[5]
for i = 9, #ARGV, 2 do
  if ARGV[i] ~= '' and ARGV[i] + 0 < oldest then return {'old', ARGV[i], text(oldest)} end
end
-- include: alive.lua
local near = keep_alive(KEYS[1], KEYS[4], ARGV[2], ARGV[3], ARGV[4], ARGV[1])
for i = 9, #ARGV, 2 do
  local at = ARGV[i]
  -- What comes from a clock that is ahead would stay for longer than a day.
  if at == '' or at + 0 > now then at = text(now) end
  local member = at .. ':' .. ARGV[i + 1]
  -- The same value in the same millisecond is another sample: it has a number behind it.
  if call('ZSCORE', KEYS[2], member) then
    local others = call('ZCOUNT', KEYS[2], at, at)
    while call('ZSCORE', KEYS[2], member .. ':' .. others) do
      others = others + 1
    end
    member = member .. ':' .. others
  end
  call('ZADD', KEYS[2], at, member)
end
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. text(oldest))
call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[7])
call('PEXPIRE', KEYS[2], ARGV[5])
-- Not what came last: samples may come late.
local newest = call('ZRANGE', KEYS[2], -1, -1)[1]
if newest then
  call('HSET', KEYS[3], ARGV[8], string.match(newest, '^%d+:([^:]+)') or '0', 'updatedAt', rfc3339(now))
  call('PEXPIRE', KEYS[3], ARGV[6])
end
return {'ok', call('ZCARD', KEYS[2]), near}
