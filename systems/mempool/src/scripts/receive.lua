-- mempool/receive v1: accept a transaction once across all nodes, or say why not.
-- keys: pending(w) payload(rw keep) stage(rw) inputs(rw) received(w) stats(rw) events(w)
-- args: hash, raw, bytes, size, spends, most_count, most_bytes, most_events, node, spent...
-- returns: {"ok", version} | {"duplicate", stage} | {"restored", stage} | {"conflict", input, hash} | {"full", limit, used}
-- repeat: unsafe

local call = redis.call
-- include: events.lua

local hash, size = ARGV[1], tonumber(ARGV[4])
local known = call('HMGET', KEYS[3], hash, hash .. ':mark')
local before = known[1]
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
local count, bytes = tonumber(stats[1] or '0'), tonumber(stats[2] or '0')
if count >= tonumber(ARGV[6]) then
  call('HINCRBY', KEYS[6], 'full', 1)
  return {'full', 'count', count}
end
if bytes + size > tonumber(ARGV[7]) then
  call('HINCRBY', KEYS[6], 'full', 1)
  return {'full', 'bytes', bytes}
end

local version = '1'
if before then
  version = string.format('%.0f', tonumber(string.match(known[2], '^%d+')) + 1)
end
local ms = now()
local id = id_after(stats[4], ms)
call('RPUSH', KEYS[1], ARGV[2])
call('SET', KEYS[2], ARGV[3])
call('HSET', KEYS[3], hash, 'pending', hash .. ':mark', version .. ' 0', hash .. ':tx', ARGV[5])
for i = 10, #ARGV do
  call('HSET', KEYS[4], ARGV[i], hash)
end
call('ZADD', KEYS[5], ms, hash)
call('HSET', KEYS[6], 'count', count + 1, 'bytes', bytes + size, 'received', tonumber(stats[3] or '0') + 1, 'last_event', id)
tell(KEYS[7], ARGV[8], id, hash, 'pending', before or 'unknown', version, '0', 'received', ARGV[9])
return {'ok', version}
