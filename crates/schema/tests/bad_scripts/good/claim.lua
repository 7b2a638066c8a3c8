-- depot/claim v2: take the next job and note who has it.
-- keys: waiting(w) claimed(w) job(w)...
-- args: worker, ttl(job)
-- returns: job_id | nil
-- repeat: unsafe

local job_id = redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT')
if not job_id then
  return nil
end
for i = 3, #KEYS do
  redis.call('HSET', KEYS[i], 'worker', ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return job_id
