-- mempool/mark_inflight v1: move hashes from pending to inflight as propagated; those that are not pending are left alone, but for
--   entries at the head of the queue, where they would stand in front of those that are.
-- keys: pending(rw) inflight(w) stage(rw) tip(r) due(w) offered(w) stats(rw) events(w) payload(r)...
-- args: drop_after, most_events, node, hashes...
-- returns: {{hash moved, ...}, {hash whose payload is gone, ...}}
-- repeat: safe

local call = redis.call
-- include: events.lua
-- include: stage.lua
-- include: pending.lua

-- Each hash comes twice: as text, and as the 32 bytes that it is.
local height = call('HGET', KEYS[4], 'height') or '0'
local due, offers = height + ARGV[1], call('HGET', KEYS[7], 'offers') or 0
local at = now()
local moved, lost, out, stray = {}, {}, {}, nil
for i = 4, #ARGV, 2 do
  local hash, raw = ARGV[i], ARGV[i + 1]
  local entry = call('HGET', KEYS[3], hash)
  local stage, version, _, tx
  if entry then stage, version, _, tx = read_stage(entry) end
  if stage == 'pending' then
    local payload = call('GET', KEYS[9 + (i - 4) / 2])
    if payload then
      version = string.format('%d', version + 1)
      -- [propagated, 0 confirmations, payload, no point, 0 misses]
      call('HSET', KEYS[2], raw, '\133\130\0\128\0' .. payload .. '\246\0')
      call('HSET', KEYS[3], hash, 'propagated ' .. version .. ' ' .. height .. ' - ' .. tx)
      -- Behind those of the same height, where the way is short: by hash they would lie anywhere among all that are inflight.
      call('ZADD', KEYS[5], string.format('%.6f', due + (offers + #moved) % 1e6 / 1e6), 'drop:' .. hash)
      tell(KEYS[8], ARGV[2], hash, 'propagated', 'pending', version, height, 'offered', ARGV[3], at)
      moved[#moved + 1] = hash
      out[raw] = true
    else
      lost[#lost + 1] = hash
    end
  elseif entry then
    stray = stray or {}
    stray[raw] = true
  end
end
take_out(KEYS[1], out, #moved)
if stray then
  for _, raw in ipairs(call('LRANGE', KEYS[1], 0, (#ARGV - 3) / 2 - 1)) do
    if stray[raw] then call('LREM', KEYS[1], 1, raw) end
  end
end
if #moved > 0 then
  local offer = call('HINCRBY', KEYS[7], 'offers', #moved) - #moved
  for i, hash in ipairs(moved) do
    call('ZADD', KEYS[6], string.format('%d', offer + i), hash)
  end
end
return {moved, lost}
