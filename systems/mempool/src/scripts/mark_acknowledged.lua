-- mempool/mark_acknowledged v1: propagated becomes acknowledged; any other stage is left alone.
-- keys: inflight(rw) stage(rw) stats(rw) events(w)
-- args: most_events, node, hashes...
-- returns: {hash acknowledged, ...}
-- repeat: safe

local call = redis.call
-- include: events.lua

-- Each hash comes twice: as text, and as the 32 bytes that it is.
local at, number = newest(call('HGET', KEYS[3], 'last_event'), now())
local moved = {}
for i = 3, #ARGV, 2 do
  local hash, raw = ARGV[i], ARGV[i + 1]
  local mark = hash .. ':mark'
  local known = call('HMGET', KEYS[2], hash, mark)
  local record = known[1] == 'propagated' and call('HGET', KEYS[1], raw)
  if record then
    local version, height = string.match(known[2], '^(%d+) (%d+)')
    version = string.format('%d', version + 1)
    -- The stage is the second to fourth byte; the rest stays.
    call('HSET', KEYS[1], raw, '\133\130\1\128' .. string.sub(record, 5))
    call('HSET', KEYS[2], hash, 'acknowledged', mark, version .. ' ' .. height)
    number = number + 1
    tell(KEYS[4], ARGV[1], event_id(at, number), hash, 'acknowledged', 'propagated', version, height, 'acknowledged', ARGV[2])
    moved[#moved + 1] = hash
  end
end
if #moved > 0 then
  call('HSET', KEYS[3], 'last_event', event_id(at, number))
end
return moved
