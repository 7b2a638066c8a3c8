-- swarm/prune_checkpoints v1: remove checkpoints that nobody needs, and names of those that have run out.
-- keys: checkpoints(rw) recovery(rw)... checkpoint_chunk(rw)...
-- args: links...
-- returns: how many checkpoints went
-- repeat: safe

-- links: ids and how many chunks each has, or `gone`. What has no end is pinned by now, or something pinned stands on it.
local call, at, removed = redis.call, 1 + #ARGV / 2, 0
for i = 1, #ARGV, 2 do
  local key, is_gone = KEYS[(i + 3) / 2], ARGV[i + 1] == 'gone'
  local chunks, lives = is_gone and 0 or tonumber(ARGV[i + 1]), call('PTTL', key)
  if lives == -2 or (lives ~= -1 and not is_gone) then
    removed = removed + call('UNLINK', key)
    for j = at + 1, at + chunks do
      call('UNLINK', KEYS[j])
    end
    call('ZREM', KEYS[1], ARGV[i])
  end
  at = at + chunks
end
return removed
