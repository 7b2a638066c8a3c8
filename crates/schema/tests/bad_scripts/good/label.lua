-- depot/label v1: file a job under its labels.
-- keys: job(r) tagged(w)...
-- args: ttl(tagged), job_id
-- returns: number of labels
-- repeat: safe

local ttl, job_id = ARGV[1], ARGV[2]
local there = redis.call('EXISTS', KEYS[1]) == 1
for index, key in ipairs(KEYS) do
  if index > 1 then
    if there then
      redis.call('SADD', key, job_id)
    else
      redis.call('SREM', key, job_id)
    end
  end
end
for i = 2, #KEYS do
  redis.call('PEXPIRE', KEYS[i], ttl)
end
return #KEYS - 1
