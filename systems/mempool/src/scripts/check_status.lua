-- mempool/check_status v1: stage and mark of some transactions, and the height that their depth follows from.
-- keys: stage(r) tip(r)
-- args: hashes...
-- returns: {height, {stage, mark, ...}}

local known = {}
for _, hash in ipairs(ARGV) do
  local found = redis.call('HMGET', KEYS[1], hash, hash .. ':mark')
  known[#known + 1] = found[1]
  known[#known + 1] = found[2]
end
return {redis.call('HGET', KEYS[2], 'height'), known}
