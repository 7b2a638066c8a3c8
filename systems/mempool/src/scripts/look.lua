-- mempool/look v1: what a plan of the watcher is made from, at one moment.
-- keys: tip(r) stage(r) due(r) finalized(r) stats(r)
-- args: height, most_due, hashes...
-- returns: {{height, slot, hash, commits, finalized}, {stage, mark, ...}, {due, stage, mark, ...}}

local call = redis.call

local function known(hash, list)
  local found = call('HMGET', KEYS[2], hash, hash .. ':mark')
  list[#list + 1] = found[1]
  list[#list + 1] = found[2]
end

local tip = call('HMGET', KEYS[1], 'height', 'slot', 'hash')
tip[4] = call('HGET', KEYS[5], 'commits')
tip[5] = call('ZCARD', KEYS[4])
local asked, due = {}, {}
for i = 3, #ARGV do
  known(ARGV[i], asked)
end
for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
  due[#due + 1] = member
  known(string.match(member, ':(.*)$'), due)
end
return {tip, asked, due}
