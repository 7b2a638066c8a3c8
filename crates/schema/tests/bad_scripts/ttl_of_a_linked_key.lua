-- depot/finish v1: store a result, refused unless the term is current.
-- keys: term(r) job(rw) result(w) note(w)
--   claimed(w) payload(w)
-- args: term_value, job_id, result_bytes, remark,
--   ttl(job), ttl(result), ttl(payload), ttl(note)
-- returns: {"ok"} | {"stale", term}
-- repeat: safe

local term = redis.call('GET', KEYS[1])
if term ~= ARGV[1] then
  return { 'stale', term }
end

local function store(key, value, ttl)
  redis.call('SET', key, value, 'PX', ttl)
end

local job, ttl = KEYS[2], tonumber(ARGV[5])
if redis.call('HGET', job, 'state') == 'done' then
  return { 'ok' }
end
redis.call('HSET', job, 'state', 'done')
redis.call('PEXPIRE', job, ttl)
store(KEYS[3], ARGV[3], ARGV[6])
-- A note lives as long as its job.
redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[8], 'NX')
redis.call('LREM', KEYS[5], 1, ARGV[2])
redis.call('PEXPIRE', KEYS[6], ARGV[7])
return { 'ok' }
-- fault: a linked key without a duration of its own has no TTL to hand over.
