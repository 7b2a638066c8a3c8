-- mempool/claim_offers v2: claim what a peer is to be offered next, so that nobody else offers it.
-- keys: offered(r) peers(rw) claims(rw)
-- args: peer, most, stands, lost, grace, pause, ttl(peers), ttl(claims)
-- returns: {1 if the peer was begun with anew since it was lost, {hash, number of its offer, ...}}
-- repeat: safe

local call = redis.call
local peer, most = ARGV[1], tonumber(ARGV[2])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stands = string.format('%.0f', now + ARGV[3])

local known = call('HMGET', KEYS[2], peer, peer .. ':again', peer .. ':repeated', peer .. ':before', peer .. ':repeat')
local from, again, repeated, before, at = known[1] or '0', tonumber(known[2]) or 0, tonumber(known[3]), known[4] or '0', known[5]

-- lost: how many milliseconds ago, if it was. The peer may have forgotten all it was offered until then. All nodes find it back;
-- whoever is the first begins anew for all, but not time and again with one that comes and goes: then it is asked for later.
local anew = 1
if ARGV[4] ~= '' and again < now - ARGV[4] then
  if now - again >= ARGV[5] + 0 then
    if from + 0 > before + 0 then before = from end
    from, repeated, at = '0', now, nil
    call('HSET', KEYS[2], peer .. ':again', string.format('%.0f', now))
  else
    anew = 0
  end
end

local claimed = {}
local function claim(hash, offer)
  call('ZADD', KEYS[3], stands, hash)
  claimed[#claimed + 1] = hash
  claimed[#claimed + 1] = offer
end

-- First what was claimed before, and not answered.
for _, hash in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now), 'LIMIT', 0, most)) do
  local offer = call('ZSCORE', KEYS[1], hash)
  if offer then claim(hash, offer) else call('ZREM', KEYS[3], hash) end
end

-- Those of a range that nobody has claimed: up to where it was read, and whether that is its end.
local function claim_range(first, last)
  local room = most - #claimed / 2
  local found = call('ZRANGEBYSCORE', KEYS[1], '(' .. first, last, 'WITHSCORES', 'LIMIT', 0, room)
  for i = 1, #found, 2 do
    first = found[i + 1]
    if not call('ZSCORE', KEYS[3], found[i]) then claim(found[i], first) end
  end
  return first, #found < 2 * room
end

local done
from, done = claim_range(from, '+inf')

-- When nothing is new: what was offered long ago and is in no block. A peer that began anew between two offers has not told so.
if done then
  if at or repeated and now - repeated >= ARGV[6] + 0 then
    at, done = claim_range(at or '0', before)
  end
  if done and (at or not repeated) then
    before, repeated, at = from, now, nil
  end
end

call('HSET', KEYS[2], peer, from, peer .. ':before', before, peer .. ':repeated', string.format('%.0f', repeated or now))
if at then call('HSET', KEYS[2], peer .. ':repeat', at) else call('HDEL', KEYS[2], peer .. ':repeat') end
call('PEXPIRE', KEYS[2], ARGV[7])
call('PEXPIRE', KEYS[3], ARGV[8])
return {anew, claimed}
