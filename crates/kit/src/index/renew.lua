-- index/renew v1: let an index that is whole live on, though nothing has changed.
-- keys: feed(rw) zsets(w)... sets(w)...
-- args: millis
-- returns: 1 | 0 when it must be rebuilt
-- repeat: safe

if redis.call('HEXISTS', KEYS[1], 'built') == 0 then
  return 0
end
if ARGV[1] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[1])
end
return 1
