-- mempool/check_status v1: stage and mark of some transactions, and the height that their depth follows from.
-- keys: stage(r) tip(r)
-- args: hashes...
-- returns: {height, {stage, mark, ...}}

local call = redis.call

local height = call('HGET', KEYS[2], 'height')
-- Nearly always one is asked for.
if #ARGV == 1 then
  return {height, call('HMGET', KEYS[1], ARGV[1], ARGV[1] .. ':mark')}
end
local fields, known = {}, {}
for i, hash in ipairs(ARGV) do
  fields[2 * i - 1], fields[2 * i] = hash, hash .. ':mark'
end
for i = 1, #fields, 1000 do
  for _, found in ipairs(call('HMGET', KEYS[1], unpack(fields, i, math.min(i + 999, #fields)))) do
    known[#known + 1] = found
  end
end
return {height, known}
