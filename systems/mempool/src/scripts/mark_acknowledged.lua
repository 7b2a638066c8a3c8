-- mempool/mark_acknowledged v1: propagated becomes acknowledged; any other stage is left alone.
-- keys: inflight(rw) stage(rw) events(w)
-- args: most_events, node, hashes...
-- returns: {hash acknowledged, ...}
-- repeat: safe

local call = redis.call
-- include: events.lua
-- include: stage.lua

-- Each hash comes twice: as text, and as the 32 bytes that it is.
local at, moved = now(), {}
for i = 3, #ARGV, 2 do
  local hash, raw = ARGV[i], ARGV[i + 1]
  local entry = call('HGET', KEYS[2], hash)
  local stage, version, where, tx
  if entry then stage, version, where, tx = read_stage(entry) end
  local record = stage == 'propagated' and call('HGET', KEYS[1], raw)
  if record then
    version = string.format('%d', version + 1)
    -- The stage is the second to fourth byte; the rest stays.
    call('HSET', KEYS[1], raw, '\133\130\1\128' .. string.sub(record, 5))
    call('HSET', KEYS[2], hash, 'acknowledged ' .. version .. ' ' .. where .. ' ' .. tx)
    tell(KEYS[3], ARGV[1], hash, 'acknowledged', 'propagated', version, string.match(where, '^%d+'), 'acknowledged', ARGV[2], at)
    moved[#moved + 1] = hash
  end
end
return moved
