-- index/members v1: read an index that is whole.
-- keys: feed(r) zsets(r)... sets(r)...
-- args: kind, first, last
-- returns: members, with their scores where it is sorted | nothing when it must be rebuilt

if redis.call('HEXISTS', KEYS[1], 'built') == 0 then
  return false
end
if ARGV[1] == 'zset' then
  return redis.call('ZRANGE', KEYS[2], ARGV[2], ARGV[3], 'WITHSCORES')
end
return redis.call('SMEMBERS', KEYS[2])
