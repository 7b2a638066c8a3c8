-- Takes hashes out of the queue, wherever they are. From the head it costs what is taken; a few further back go by LREM, many
-- by one rebuild: LREM at the tail of a long queue costs as much as thirty others.
local function take_out(queue, out, count)
  if count == 0 then return end
  local head = redis.call('LRANGE', queue, 0, count - 1)
  local run = 0
  while head[run + 1] and out[head[run + 1]] do
    run = run + 1
    out[head[run]] = nil
  end
  if run > 0 then redis.call('LTRIM', queue, run, -1) end
  if count - run < 32 then
    for raw in pairs(out) do
      redis.call('LREM', queue, 1, raw)
    end
    return
  end
  local stay = {}
  for _, raw in ipairs(redis.call('LRANGE', queue, 0, -1)) do
    if out[raw] then
      out[raw] = nil
    else
      stay[#stay + 1] = raw
    end
  end
  redis.call('DEL', queue)
  for i = 1, #stay, 1000 do
    redis.call('RPUSH', queue, unpack(stay, i, math.min(i + 999, #stay)))
  end
end
