-- swarm/pin_checkpoint v1: keep a checkpoint until it is unpinned, with what it stands on; or let some run out.
-- keys: checkpoints(rw) recovery(rw)... checkpoint_chunk(rw)...
-- args: ttl(recovery), ttl(checkpoints), pinned, is_last, checkpoint_id, ids...
-- returns: {"ok"} | {"unknown", checkpoint}
-- repeat: safe

-- Pinned: all of these have no end. Unpinned: all of these end, and the list too if no other is pinned (`is_last`).
local call = redis.call
for i = 6, #ARGV do
  if not call('ZSCORE', KEYS[1], ARGV[i]) or call('EXISTS', KEYS[i - 4]) == 0 then return {'unknown', ARGV[i]} end
end
for i = 6, #ARGV do
  if ARGV[i] == ARGV[5] then call('HSET', KEYS[i - 4], 'pinned', ARGV[3]) end
end
for i = 2, #KEYS do
  if ARGV[3] == 'true' then
    call('PERSIST', KEYS[i])
  else
    call('PEXPIRE', KEYS[i], ARGV[1])
  end
end
if ARGV[3] == 'true' then
  call('PERSIST', KEYS[1])
elseif ARGV[4] == '1' then
  call('PEXPIRE', KEYS[1], ARGV[2])
end
return {'ok'}
