-- depot/label v1: file a job under its labels.
-- keys: job(r) tagged(w)...
-- args: job_id, ttl(tagged)
-- returns: number of labels
-- repeat: safe

local there = redis.call('EXISTS', KEYS[1])
local keys = { KEYS[2] }
for i = 2, #KEYS do
  redis.call('SADD', keys[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return there
-- fault: a table of keys cannot be followed.
