-- mempool/look v1: what a plan of the watcher is made from, at one moment.
-- keys: tip(r) stage(r) due(r) finalized(r) stats(r)
-- args: height, most_due, hashes...
-- returns: {{height, slot, hash, commits, finalized}, {entry, ...}, {due, entry, ...}}

local call = redis.call

local tip = call('HMGET', KEYS[1], 'height', 'slot', 'hash')
tip[4] = call('HGET', KEYS[5], 'commits')
tip[5] = call('ZCARD', KEYS[4])
local asked, due = {}, {}
for i = 3, #ARGV do
  asked[#asked + 1] = call('HGET', KEYS[2], ARGV[i])
end
for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[1] + 1, 'LIMIT', 0, ARGV[2])) do
  due[#due + 1] = member
  due[#due + 1] = call('HGET', KEYS[2], string.match(member, ':(.*)$'))
end
return {tip, asked, due}
