-- depot/label v1: file a job under its labels.
-- keys: job(r) tagged(w)...
-- args: job_id, ttl(tagged)
-- returns: number of labels
-- repeat: safe

local there = redis.call('EXISTS', KEYS[1])
for i = 2, #KEYS do
  if i == 9 then goto done end
  redis.call('SADD', KEYS[i], ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return there
-- fault: goto came with Lua 5.2.
