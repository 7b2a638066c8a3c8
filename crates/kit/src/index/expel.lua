-- index/expel v1: take members out whose records are gone, unless a later change is known.
-- keys: feed(rw keep) zsets(w)... sets(w)...
-- args: kind, suspects...
-- returns: how many went
-- repeat: safe

local gone = 0
for i = 2, #ARGV, 3 do
  -- What was applied from the record's outbox when it was found gone; another answer means that it has come back.
  if (redis.call('HGET', KEYS[1], ARGV[i]) or '') == ARGV[i + 1] then
    if ARGV[1] == 'zset' then
      gone = gone + redis.call('ZREM', KEYS[2], ARGV[i + 2])
    else
      gone = gone + redis.call('SREM', KEYS[2], ARGV[i + 2])
    end
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return gone
