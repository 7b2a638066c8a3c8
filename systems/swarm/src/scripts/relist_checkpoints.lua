-- swarm/relist_checkpoints v1: list the checkpoints of a swarm anew, where their list is lost.
-- keys: checkpoints(rw) recovery(r)...
-- args: ttl(checkpoints), ids...
-- returns: {"ok", how many} | {"there"}
-- repeat: safe

-- Each under its own number. What others have written without one comes behind them, by its time: numbers go on from there.
local call = redis.call
if call('EXISTS', KEYS[1]) == 1 then return {'there'} end
local others, id_of, newest, listed, is_pinned = {}, {}, 0, 0, false
for i = 2, #ARGV do
  if call('TYPE', KEYS[i]).ok == 'hash' then
    local had = call('HMGET', KEYS[i], 'seq', 'timestamp', 'pinned')
    local seq = tonumber(had[1] or '')
    is_pinned = is_pinned or had[3] == 'true'
    if seq and seq >= 1 and seq < 2 ^ 53 and seq % 1 == 0 then
      call('ZADD', KEYS[1], seq, ARGV[i])
      newest, listed = math.max(newest, seq), listed + 1
    else
      local at = (had[2] or '') .. ' ' .. ARGV[i]
      others[#others + 1], id_of[at] = at, ARGV[i]
    end
  end
end
table.sort(others)
for i, at in ipairs(others) do
  call('ZADD', KEYS[1], newest + i, id_of[at])
end
listed = listed + #others
-- While one is pinned the list has no end.
if listed > 0 and not is_pinned then call('PEXPIRE', KEYS[1], ARGV[1]) end
return {'ok', listed}
