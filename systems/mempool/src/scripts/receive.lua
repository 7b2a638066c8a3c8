-- mempool/receive v1: accept a transaction once across all nodes, or say why not.
-- keys: pending(w) payload(rw keep) stage(rw) inputs(rw) received(w) stats(rw) events(w)
-- args: hash, raw, bytes, size, spends, most_count, most_bytes, most_events, node, spent...
-- returns: {"ok", version} | {"duplicate", stage} | {"restored", stage} | {"conflict", input, hash} | {"full", limit, used}
-- repeat: unsafe

local call = redis.call
-- include: events.lua

-- Adding to a text makes it a number, at half of what tonumber costs.
local hash, size = ARGV[1], ARGV[4] + 0
local before = call('HGET', KEYS[3], hash)
if before and before ~= 'dropped' then
  -- Its bytes were taken away by somebody else: whoever sends it again brings them back.
  if before ~= 'finalized' and call('EXISTS', KEYS[2]) == 0 then
    call('SET', KEYS[2], ARGV[3])
    return {'restored', before}
  end
  call('HINCRBY', KEYS[6], 'duplicates', 1)
  return {'duplicate', before}
end

for i = 10, #ARGV, 1000 do
  for j, other in ipairs(call('HMGET', KEYS[4], unpack(ARGV, i, math.min(i + 999, #ARGV)))) do
    if other and other ~= hash then
      call('HINCRBY', KEYS[6], 'conflicts', 1)
      return {'conflict', ARGV[i + j - 1], other}
    end
  end
end

local stats = call('HMGET', KEYS[6], 'count', 'bytes', 'received', 'last_event')
local count, bytes = (stats[1] or 0) + 0, (stats[2] or 0) + 0
if count >= ARGV[6] + 0 then
  call('HINCRBY', KEYS[6], 'full', 1)
  return {'full', 'count', count}
end
if bytes + size > ARGV[7] + 0 then
  call('HINCRBY', KEYS[6], 'full', 1)
  return {'full', 'bytes', bytes}
end

local format = string.format
local mark, version = hash .. ':mark', '1'
if before then
  version = format('%d', string.match(call('HGET', KEYS[3], mark), '^%d+') + 1)
end
local ms = now()
local at, number = newest(stats[4], ms)
local id = event_id(at, number + 1)
call('RPUSH', KEYS[1], ARGV[2])
call('SET', KEYS[2], ARGV[3])
call('HSET', KEYS[3], hash, 'pending', mark, version .. ' 0', hash .. ':tx', ARGV[5])
for i = 10, #ARGV do
  call('HSET', KEYS[4], ARGV[i], hash)
end
call('ZADD', KEYS[5], format('%d', ms), hash)
call('HSET', KEYS[6], 'count', format('%d', count + 1), 'bytes', format('%d', bytes + size),
  'received', format('%d', (stats[3] or 0) + 1), 'last_event', id)
tell(KEYS[7], ARGV[8], id, hash, 'pending', before or 'unknown', version, '0', 'received', ARGV[9])
return {'ok', version}
