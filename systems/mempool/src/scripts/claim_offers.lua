-- mempool/claim_offers v1: claim what a peer is to be offered next, so that nobody else offers it.
-- keys: offered(r) peers(rw) claims(rw)
-- args: peer, most, stands, again, grace, ttl(peers), ttl(claims)
-- returns: {hash, number of its offer, ...}
-- repeat: safe

local call = redis.call
local peer, most = ARGV[1], tonumber(ARGV[2])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stands = string.format('%.0f', now + ARGV[3])

-- A peer that was away may have forgotten all it was offered. All nodes find it back at the same time; one begins anew.
local place = call('HMGET', KEYS[2], peer, peer .. ':again')
local from = place[1] or '0'
if ARGV[4] == '1' and time[1] - (place[2] or 0) >= ARGV[5] + 0 then
  from = '0'
  call('HSET', KEYS[2], peer .. ':again', time[1])
end

local claimed = {}
for _, hash in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now), 'LIMIT', 0, most)) do
  local offer = call('ZSCORE', KEYS[1], hash)
  if offer then
    call('ZADD', KEYS[3], stands, hash)
    claimed[#claimed + 1] = hash
    claimed[#claimed + 1] = offer
  else
    call('ZREM', KEYS[3], hash)
  end
end
local next = call('ZRANGEBYSCORE', KEYS[1], '(' .. from, '+inf', 'WITHSCORES', 'LIMIT', 0, most - #claimed / 2)
for i = 1, #next, 2 do
  local hash = next[i]
  from = next[i + 1]
  if not call('ZSCORE', KEYS[3], hash) then
    call('ZADD', KEYS[3], stands, hash)
    claimed[#claimed + 1] = hash
    claimed[#claimed + 1] = from
  end
end
call('HSET', KEYS[2], peer, from)
call('PEXPIRE', KEYS[2], ARGV[6])
call('PEXPIRE', KEYS[3], ARGV[7])
return claimed
