-- mempool/claim_offers v3: claim what a peer is to be offered next, so that nobody else offers it anything meanwhile.
-- keys: offered(r) peers(rw) claims(rw) refused(rw)
-- args: peer, node, most, stands, lost, grace, pause, ttl(peers), ttl(claims)
-- returns: {1 if the peer was begun with anew since it was lost, {hash, number of its offer, ...}}
-- repeat: safe

local call = redis.call
local peer, node, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stands, today = string.format('%.0f', now + ARGV[4]), string.format('%.0f', now)

local known = call('HMGET', KEYS[2], peer, peer .. ':by', peer .. ':again', peer .. ':repeated', peer .. ':before', peer .. ':repeat')
local from, again, repeated, before, at = known[1] or '0', tonumber(known[3]) or 0, tonumber(known[4]), known[5] or '0', known[6]

-- lost: how many milliseconds ago, if it was. The peer may have forgotten all it was offered until then. All nodes find it back;
-- whoever is the first begins anew for all, but not time and again with one that comes and goes: then it is asked for later.
local is_lost = ARGV[5] ~= '' and again < now - ARGV[5]

-- One node at a time: what another offers now goes before all that follows. A node that claims has ended what it claimed before.
if known[2] ~= node and call('ZCOUNT', KEYS[3], '(' .. today, '+inf') > 0 then return {is_lost and 0 or 1, {}} end

local is_anew = not is_lost or now - again >= ARGV[6] + 0
if is_lost and is_anew then
  if from + 0 > before + 0 then before = from end
  from, repeated, at = '0', now, nil
  call('HSET', KEYS[2], peer .. ':again', today)
end

local claimed = {}
local function claim(hash, offer)
  call('ZADD', KEYS[3], stands, hash)
  claimed[#claimed + 1] = hash
  claimed[#claimed + 1] = offer
end

-- First what was claimed before and not answered, then what was refused a while ago: a parent may have come since.
local open = {}
local function is_before(one, other)
  return one[2] + 0 < other[2] + 0
end
for _, hash in ipairs(call('ZRANGE', KEYS[3], 0, -1)) do
  local offer = call('ZSCORE', KEYS[1], hash)
  if offer then open[#open + 1] = {hash, offer} else call('ZREM', KEYS[3], hash) end
end
table.sort(open, is_before)
for i = 1, math.min(#open, most) do
  claim(open[i][1], open[i][2])
end
for _, hash in ipairs(call('ZRANGEBYSCORE', KEYS[4], '-inf', today, 'LIMIT', 0, most - #claimed / 2)) do
  local offer = call('ZSCORE', KEYS[1], hash)
  if not offer then
    call('ZREM', KEYS[4], hash)
  elseif not call('ZSCORE', KEYS[3], hash) then
    claim(hash, offer)
  end
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
  if at or repeated and now - repeated >= ARGV[7] + 0 then
    at, done = claim_range(at or '0', before)
  end
  if done and (at or not repeated) then
    before, repeated, at = from, now, nil
  end
end

call('HSET', KEYS[2], peer, from, peer .. ':by', node, peer .. ':before', before,
  peer .. ':repeated', repeated and string.format('%.0f', repeated) or today)
if at then call('HSET', KEYS[2], peer .. ':repeat', at) else call('HDEL', KEYS[2], peer .. ':repeat') end
call('PEXPIRE', KEYS[2], ARGV[8])
call('PEXPIRE', KEYS[3], ARGV[9])
return {is_anew and 1 or 0, claimed}
