-- mempool/weed_pending v1: take out of the queue what does not belong there: what is no hash, listed twice, or not pending.
-- keys: watcher_lock_fence(r) pending(rw) stage(r)
-- args: fence, suspects...
-- returns: number of entries taken out | -1 when fenced
-- repeat: safe

local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return -1 end

-- suspects: each as it stands in the queue, and as text; without text it is no hash. The first of several stays.
local out = 0
for i = 2, #ARGV, 2 do
  local raw, hash = ARGV[i], ARGV[i + 1]
  local entry = hash ~= '' and call('HGET', KEYS[3], hash)
  if hash == '' or entry and string.sub(entry, 1, 8) ~= 'pending ' then
    out = out + call('LREM', KEYS[2], 0, raw)
  else
    local more = #call('LPOS', KEYS[2], raw, 'COUNT', 0) - 1
    if more > 0 then out = out + call('LREM', KEYS[2], -more, raw) end
  end
end
return out
