-- swarm/pin_checkpoint v1: keep a checkpoint until it is unpinned, with what it stands on; or let run out what no other needs.
-- keys: checkpoints(rw) recovery(rw)... checkpoint_chunk(rw)...
-- args: ttl(recovery), ttl(checkpoints), pinned, checkpoint_id, named, newest, typed, links...
-- returns: {"ok"} | {"unknown", checkpoint} | {"changed"}
-- repeat: safe

-- links: ids and how many chunks each has. To pin one, it and what it stands on. To unpin it all that are listed: `named`
-- names, of which `newest` is the last; one that came since may be pinned, and stand on some of these. typed:
-- pinned ones whose ids are of an old shape, and stand on nothing.
local call, is_pin, own, place = redis.call, ARGV[3] == 'true', ARGV[4], {}
local parents, pinned, chunks, at = {}, {}, {}, 1 + (#ARGV - 7) / 2
for i = 8, #ARGV, 2 do
  local id, key = ARGV[i], KEYS[(i - 4) / 2]
  local had = call('HMGET', key, 'parent', 'pinned')
  place[id], parents[id], pinned[id] = (i - 4) / 2, had[1], had[2] == 'true'
  chunks[id], at = {at + 1, at + ARGV[i + 1]}, at + ARGV[i + 1]
  local must_be = is_pin or id == own
  if must_be and (not call('ZSCORE', KEYS[1], id) or call('EXISTS', key) == 0) then return {'unknown', id} end
end
if not place[own] then return {'unknown', own} end
local newest = call('ZRANGE', KEYS[1], -1, -1)[1]
if not is_pin and (call('ZCARD', KEYS[1]) ~= ARGV[5] + 0 or newest ~= ARGV[6]) then return {'changed'} end

-- One and all that it stands on. A chain that leads back ends there.
local function chain(id, links)
  while id and place[id] and not links[id] do
    links[id], id = true, parents[id]
  end
  return links
end

call('HSET', KEYS[place[own]], 'pinned', ARGV[3])
local needed, is_last = {}, ARGV[7] == '0'
for id, is_pinned in pairs(pinned) do
  if is_pinned and id ~= own then
    chain(id, needed)
    is_last = false
  end
end
for id in pairs(chain(own, {})) do
  if is_pin then
    call('PERSIST', KEYS[place[id]])
  elseif not needed[id] then
    call('PEXPIRE', KEYS[place[id]], ARGV[1])
  end
  for i = chunks[id][1], chunks[id][2] do
    if is_pin then
      call('PERSIST', KEYS[i])
    elseif not needed[id] then
      call('PEXPIRE', KEYS[i], ARGV[1])
    end
  end
end
-- While one is pinned the list has no end.
if is_pin or not is_last then
  call('PERSIST', KEYS[1])
else
  call('PEXPIRE', KEYS[1], ARGV[2])
end
return {'ok'}
