-- depot/accept v1: accept a job once.
-- keys: seen(rw) payload(w keep) waiting(w) stats(rw) events(w)
-- args: job_id, payload_bytes, max_waiting, ttl(seen)
-- returns: {"ok", seq} | {"duplicate"} | {"full", max_waiting}
-- repeat: safe

local call = redis.call
local seen, payload, waiting, stats, events = unpack(KEYS)
local job_id = ARGV[1]

if call('SISMEMBER', seen, job_id) == 1 then
  return { 'duplicate' }
end
local max = tonumber(ARGV[3])
if call('LLEN', waiting) >= max then
  return { 'full', max }
end

call('SADD', seen, job_id)
call('PEXPIRE', seen, ARGV[4])
-- The payload has no end before the job is finished.
call('SET', payload, ARGV[2])
call('LPUSH', waiting, job_id)
local seq = call('HINCRBY', stats, 'accepted', 1)
local time = call('TIME')
call('XADD', events, 'MAXLEN', '~', '1000', '*', 'type', 'accepted', 'job', job_id, 'at', time[1])
return { 'ok', seq }
