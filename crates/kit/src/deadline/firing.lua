-- deadline/firing v1: what this term has and did not acknowledge.
-- keys: fence(r) timers_firing(r)
-- args: shown, term, limit
-- returns: {`due:n:id`, …} | nil when fenced

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return false
end
return redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[2], ARGV[2], 'LIMIT', 0, ARGV[3])
