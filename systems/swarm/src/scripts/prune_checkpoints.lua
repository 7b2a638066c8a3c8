-- swarm/prune_checkpoints v1: remove checkpoints, unless one of them is pinned by now.
-- keys: checkpoints(rw) recovery(rw)... checkpoint_chunk(w)...
-- args: ids...
-- returns: {"ok", keys removed} | {"pinned", checkpoint}
-- repeat: safe

local call = redis.call
for i = 1, #ARGV do
  if call('HGET', KEYS[1 + i], 'pinned') == 'true' then return {'pinned', ARGV[i]} end
end
local removed = 0
for i = 2, #KEYS do
  removed = removed + call('UNLINK', KEYS[i])
end
for i = 1, #ARGV do
  call('ZREM', KEYS[1], ARGV[i])
end
return {'ok', removed}
