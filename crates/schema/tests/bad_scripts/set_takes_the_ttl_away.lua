-- depot/finish v1: store a result under the current term.
-- keys: term(r) job(rw keep) result(w) note(w keep) claimed(w) payload(w keep)
-- args: job_id, bytes, ttl(result)
-- returns: {"ok"} | {"stale"}
-- repeat: safe

if redis.call('GET', KEYS[1]) ~= redis.call('HGET', KEYS[2], 'term') then
  return { 'stale' }
end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[4], 'done')
redis.call('LREM', KEYS[5], 1, ARGV[1])
redis.call('SET', KEYS[6], '')
return { 'ok' }
-- fault: a plain SET removes the TTL of the note.
