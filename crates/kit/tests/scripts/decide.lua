-- pool/decide v1: write the plan, if the fence is the current one.
-- keys: leader_fence(r) plan(rw)
-- args: fence, decision
-- returns: the plan before | "fenced"
-- repeat: safe

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'fenced'
end
local before = redis.call('GET', KEYS[2])
redis.call('SET', KEYS[2], ARGV[2])
return before or ''
