-- mempool/read_oldest v1: the head of the queue with what is known of each, and the time.
-- keys: pending(r) stage(r)
-- args: most
-- returns: {now, {raw, entry, ...}}

local call = redis.call
-- include: hex.lua

local head = {}
for _, raw in ipairs(call('LRANGE', KEYS[1], 0, ARGV[1] - 1)) do
  head[#head + 1] = raw
  head[#head + 1] = call('HGET', KEYS[2], hex(raw))
end
return {call('TIME')[1], head}
