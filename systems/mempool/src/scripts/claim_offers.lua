-- mempool/claim_offers v3: claim what a peer is to be offered next, so that nobody else offers it.
-- keys: offered(r) peers(rw) claims(rw) refused(rw) stage(r)
-- args: peer, most, stands, lost, grace, pause, ttl(peers), ttl(claims)
-- returns: {1 if the peer was begun with anew since it was lost, {hash, number of its offer, ...}}
-- repeat: safe

local call = redis.call
local peer, most = ARGV[1], tonumber(ARGV[2])
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stands, today = string.format('%.0f', now + ARGV[3]), string.format('%.0f', now)

local known = call('HMGET', KEYS[2], peer, peer .. ':again', peer .. ':repeated', peer .. ':before', peer .. ':repeat')
local from, again, repeated, before, at = known[1] or '0', tonumber(known[2]) or 0, tonumber(known[3]), known[4] or '0', known[5]

-- lost: how many milliseconds ago, if it was. The peer may have forgotten all it was offered until then. All nodes find it back;
-- whoever is the first begins anew for all, but not time and again with one that comes and goes: then it is asked for later.
local is_anew = true
if ARGV[4] ~= '' and again < now - ARGV[4] then
  is_anew = now - again >= ARGV[5] + 0
  if is_anew then
    if from + 0 > before + 0 then before = from end
    from, repeated, at = '0', now, nil
    call('HSET', KEYS[2], peer .. ':again', today)
  end
end

-- A child waits while another node offers its parent, or has given it back: at the peer it could overtake it.
local claimed, here = {}, {}
local function waits(hash)
  for parent in string.gmatch(call('HGET', KEYS[5], hash) or '', '(%x+)#') do
    if not here[parent] and call('ZSCORE', KEYS[3], parent) then return true end
  end
  return false
end
local function claim(hash, offer)
  if waits(hash) then
    call('ZADD', KEYS[3], 0, hash)
    return
  end
  call('ZADD', KEYS[3], stands, hash)
  here[hash] = true
  claimed[#claimed + 1] = hash
  claimed[#claimed + 1] = offer
end

-- First what was claimed before and not answered, then what was refused a while ago: a parent may have come since.
local open = {}
local function is_before(one, other)
  return one[2] + 0 < other[2] + 0
end
for _, hash in ipairs(call('ZRANGEBYSCORE', KEYS[3], '-inf', today)) do
  local offer = call('ZSCORE', KEYS[1], hash)
  if offer then open[#open + 1] = {hash, offer} else call('ZREM', KEYS[3], hash) end
end
local left = #open
table.sort(open, is_before)
for i = 1, #open do
  if #claimed < 2 * most then claim(open[i][1], open[i][2]) end
end
left = left - #claimed / 2
local again_now = {}
for _, hash in ipairs(call('ZRANGEBYSCORE', KEYS[4], '-inf', today, 'LIMIT', 0, most - #claimed / 2)) do
  local offer = call('ZSCORE', KEYS[1], hash)
  if not offer then
    call('ZREM', KEYS[4], hash)
  elseif not call('ZSCORE', KEYS[3], hash) then
    again_now[#again_now + 1] = {hash, offer}
  end
end
table.sort(again_now, is_before)
for i = 1, #again_now do
  claim(again_now[i][1], again_now[i][2])
end

-- Those of a range that nobody has claimed: up to where it was read, and whether that is its end. Not when many wait already.
local function claim_range(first, last)
  local room = most - #claimed / 2
  if left > 256 then room = 0 end
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

call('HSET', KEYS[2], peer, from, peer .. ':before', before,
  peer .. ':repeated', repeated and string.format('%.0f', repeated) or today)
if at then call('HSET', KEYS[2], peer .. ':repeat', at) else call('HDEL', KEYS[2], peer .. ':repeat') end
call('PEXPIRE', KEYS[2], ARGV[7])
call('PEXPIRE', KEYS[3], ARGV[8])
return {is_anew and 1 or 0, claimed}
