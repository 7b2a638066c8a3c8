-- pool/record v1: add a line to the journal, if the fence is the current one.
-- keys: leader_fence(r) journal(w)
-- args: fence, line
-- returns: lines so far | 0 when fenced
-- repeat: unsafe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('RPUSH', KEYS[2], ARGV[2])
