-- mempool/mark_inflight v1: move hashes from pending to inflight as propagated; those that are not pending are left alone.
-- keys: pending(rw) inflight(w) stage(rw) tip(r) due(w) stats(rw) events(w) payload(r)...
-- args: drop_after, most_events, node, hashes...
-- returns: {{hash moved, ...}, {hash whose payload is gone, ...}}
-- repeat: safe

local call = redis.call
-- include: events.lua
-- include: pending.lua

-- Each hash comes twice: as text, and as the 32 bytes that it is.
local height = call('HGET', KEYS[4], 'height') or '0'
local due = string.format('%d', height + ARGV[1])
local at, number = newest(call('HGET', KEYS[6], 'last_event'), now())
local moved, lost, out = {}, {}, {}
for i = 4, #ARGV, 2 do
  local hash, raw = ARGV[i], ARGV[i + 1]
  local mark = hash .. ':mark'
  local known = call('HMGET', KEYS[3], hash, mark)
  if known[1] == 'pending' then
    local payload = call('GET', KEYS[8 + (i - 4) / 2])
    if payload then
      local version = string.format('%d', string.match(known[2], '^%d+') + 1)
      -- [propagated, 0 confirmations, payload, no point, 0 misses]
      call('HSET', KEYS[2], raw, '\133\130\0\128\0' .. payload .. '\246\0')
      call('HSET', KEYS[3], hash, 'propagated', mark, version .. ' ' .. height)
      call('ZADD', KEYS[5], due, 'drop:' .. hash)
      number = number + 1
      tell(KEYS[7], ARGV[2], event_id(at, number), hash, 'propagated', 'pending', version, height, 'offered', ARGV[3])
      moved[#moved + 1] = hash
      out[raw] = true
    else
      lost[#lost + 1] = hash
    end
  end
end
if #moved > 0 then
  call('HSET', KEYS[6], 'last_event', event_id(at, number))
  take_out(KEYS[1], out, #moved)
end
return {moved, lost}
