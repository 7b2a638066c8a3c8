-- depot/claim v1: take the next job.
-- keys: waiting(w) claimed(w) job(w keep)
-- args: worker
-- returns: job_id | nil
-- repeat: unsafe

local job_id = redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT')
redis.call('HSET', job_id, 'worker', ARGV[1])
return redis.call('HDEL', KEYS[3], 'worker')
-- fault: the reply of a command is not a declared key.
