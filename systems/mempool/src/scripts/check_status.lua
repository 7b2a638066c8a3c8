-- mempool/check_status v1: what is known of some transactions, and the height that their depth follows from.
-- keys: stage(r) tip(r)
-- args: hashes...
-- returns: {height, {entry, ...}}

local call = redis.call

local height = call('HGET', KEYS[2], 'height')
-- Nearly always one is asked for.
if #ARGV == 1 then
  return {height, {call('HGET', KEYS[1], ARGV[1])}}
end
local known = {}
for i = 1, #ARGV, 1000 do
  for _, entry in ipairs(call('HMGET', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV)))) do
    known[#known + 1] = entry
  end
end
return {height, known}
