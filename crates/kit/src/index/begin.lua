-- index/begin v1: empty an index that is to be rebuilt. Whoever was rebuilding it is overtaken.
-- keys: feed(w) zsets(w)... sets(w)...
-- args: token, millis
-- returns: 1
-- repeat: safe

redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'building', ARGV[1])
if ARGV[2] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
