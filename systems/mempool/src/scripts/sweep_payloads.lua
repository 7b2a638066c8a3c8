-- mempool/sweep_payloads v1: remove payloads whose transaction no stage knows.
-- keys: watcher_lock_fence(r) stage(r) payload(rw)...
-- args: fence, hashes...
-- returns: number removed | -1 when fenced
-- repeat: safe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local removed = 0
for i = 2, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then
    removed = removed + redis.call('DEL', KEYS[1 + i])
  end
end
return removed
