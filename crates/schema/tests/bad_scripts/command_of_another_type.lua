-- depot/accept v1: accept a job once.
-- keys: seen(rw) payload(w keep) waiting(w) stats(rw) events(w)
-- args: job_id, bytes, ttl(seen)
-- returns: {"ok", seq} | {"duplicate"}
-- repeat: safe

redis.call('HSET', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('LPUSH', KEYS[3], ARGV[1])
redis.call('XADD', KEYS[5], '*', 'job', ARGV[1])
return { 'ok', redis.call('HINCRBY', KEYS[4], 'accepted', 1) }
-- fault: seen is a set.
