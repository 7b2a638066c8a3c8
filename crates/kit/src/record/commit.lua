-- record/commit v1: change a record and all that follows it, if every condition holds; else nothing.
-- keys: record(rw) parent(rw keep) fence(r) sets(w)... zsets(w)... rosters(w)... streams(rw)...
-- args: kind, expected, most, life, millis, moving, steps...
-- returns: {"ok", version, near} | {"exists"|"conflict", version} | {"missing"} | {"fenced"} | {"orphan"}
--   | {"moved"|"unmet", field, value} | {"full", fields, most}
-- repeat: unsafe

local call = redis.call
local record, kind, expected, life = KEYS[1], ARGV[1], ARGV[2], ARGV[4]

-- Conditions first: a script that has written cannot take it back.
-- One call for all that is known to be needed.
local had
if life == 'horizon' then
  had = call('HMGET', record, 'version', ARGV[6], 'horizon')
else
  had = call('HMGET', record, 'version', ARGV[6])
end
local found, horizon = had[1], had[3]
if not found and call('EXISTS', record) == 1 then
  found = '0'
end
if kind == 'create' then
  if found then return {'exists', found} end
elseif not found and kind ~= 'upsert' then
  return {'missing'}
end
if expected ~= '' and (found or '0') ~= expected then
  return {'conflict', found or '0'}
end

local at = 7
local step = ARGV[at]
while step do
  if step == 'fence' then
    if call('GET', KEYS[3]) ~= ARGV[at + 1] then return {'fenced'} end
    at = at + 2
  elseif step == 'under' then
    if call('EXISTS', KEYS[2]) == 0 then return {'orphan'} end
    at = at + 1
  elseif step == 'move' then
    local was = had[2]
    if ARGV[at + 1] ~= ARGV[6] then was = call('HGET', record, ARGV[at + 1]) end
    if was and was ~= ARGV[at + 2] and not string.find(ARGV[at + 3], ',' .. was .. ',', 1, true) then
      return {'moved', ARGV[at + 1], was}
    end
    at = at + 4
  elseif step == 'if' then
    local value = call('HGET', record, ARGV[at + 1])
    if value ~= ARGV[at + 2] then return {'unmet', ARGV[at + 1], value or ''} end
    at = at + 3
  else
    break
  end
  step = ARGV[at]
end

-- Only when it may be too many is it worth to count which fields are new.
if step == 'set' and ARGV[3] ~= '0' then
  local most, fields, last = tonumber(ARGV[3]), call('HLEN', record), at + 1 + tonumber(ARGV[at + 1])
  if fields + (last - at) / 2 + 1 > most then
    if not found or found == '0' then fields = fields + 1 - call('HEXISTS', record, 'version') end
    for i = at + 2, last, 2 do
      fields = fields + 1 - call('HEXISTS', record, ARGV[i])
    end
    if fields > most then return {'full', fields, most} end
  end
end

local function now()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A renewal never goes beyond the horizon, until which every child lives: no parent outlives its children. Whether it is near.
-- Numbers go to the server as the texts that they were: to write one costs as much as a command.
local function renew(key, horizon, lasts)
  local left, life = (tonumber(horizon) or math.huge) - now(), tonumber(lasts)
  if left >= life then
    call('PEXPIRE', key, lasts)
  else
    call('PEXPIREAT', key, horizon)
  end
  return left < 1.5 * life and 1 or 0
end

-- All holds. From here on everything is written.
local version = found
if kind == 'remove' then
  call('DEL', record)
elseif step == 'set' then
  local first, last = at + 2, at + 1 + tonumber(ARGV[at + 1])
  version = string.format('%.0f', (tonumber(found) or 0) + 1)
  call('HSET', record, 'version', version, unpack(ARGV, first, math.min(first + 999, last)))
  for i = first + 1000, last, 1000 do
    call('HSET', record, unpack(ARGV, i, math.min(i + 999, last)))
  end
  at = last + 1
  step = ARGV[at]
else
  version = call('HINCRBY', record, 'version', 1)
end

local near = 0
while step do
  if step == 'unset' then
    local last = at + 1 + tonumber(ARGV[at + 1])
    for i = at + 2, last, 1000 do
      call('HDEL', record, unpack(ARGV, i, math.min(i + 999, last)))
    end
    at = last + 1
  elseif step == 'count' then
    call('HINCRBY', record, ARGV[at + 1], ARGV[at + 2])
    at = at + 3
  elseif step == 'touch' then
    near = renew(KEYS[2], call('HGET', KEYS[2], 'horizon'), ARGV[at + 1])
    at = at + 2
  elseif step == 'sadd' then
    local key = KEYS[tonumber(ARGV[at + 1])]
    call('SADD', key, ARGV[at + 3])
    if ARGV[at + 2] ~= '0' then call('PEXPIRE', key, ARGV[at + 2]) end
    at = at + 4
  elseif step == 'srem' then
    call('SREM', KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2])
    at = at + 3
  elseif step == 'zadd' then
    local key = KEYS[tonumber(ARGV[at + 1])]
    call('ZADD', key, ARGV[at + 3], ARGV[at + 4])
    if ARGV[at + 2] ~= '0' then call('PEXPIRE', key, ARGV[at + 2]) end
    at = at + 5
  elseif step == 'zrem' then
    call('ZREM', KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2])
    at = at + 3
  elseif step == 'hset' then
    local key = KEYS[tonumber(ARGV[at + 1])]
    call('HSET', key, ARGV[at + 3], ARGV[at + 4])
    if ARGV[at + 2] ~= '0' then call('PEXPIRE', key, ARGV[at + 2]) end
    at = at + 5
  elseif step == 'hdel' then
    call('HDEL', KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2])
    at = at + 3
  else
    -- 'note' and 'event': an entry in a stream. The second half of an event's id counts them, so that a reader can tell what it missed.
    local key, id, first = KEYS[tonumber(ARGV[at + 1])], '*', at + 5
    local last = first - 1 + tonumber(ARGV[at + 4])
    if step == 'event' then
      local newest, ms, number = call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1], now(), 0
      if newest then
        local before, count = string.match(newest[1], '^(%d+)-(%d+)$')
        ms, number = math.max(ms, tonumber(before)), tonumber(count)
      end
      id = string.format('%.0f-%.0f', ms, number + 1)
    end
    if ARGV[at + 3] ~= '0' then
      call('XADD', key, 'MAXLEN', ARGV[at + 3], id, unpack(ARGV, first, math.min(first + 999, last)))
    else
      call('XADD', key, id, unpack(ARGV, first, math.min(first + 999, last)))
    end
    if ARGV[at + 2] ~= '0' then call('PEXPIRE', key, ARGV[at + 2]) end
    at = last + 1
  end
  step = ARGV[at]
end

if kind == 'remove' or life == 'keep' then
  return {'ok', version, near}
end
if life == 'renew' then
  call('PEXPIRE', record, ARGV[5])
elseif life == 'once' then
  call('PEXPIRE', record, ARGV[5], 'NX')
else
  if not horizon then
    horizon = string.format('%.0f', now() + 2 * tonumber(ARGV[5]))
    call('HSET', record, 'horizon', horizon)
  end
  near = math.max(near, renew(record, horizon, ARGV[5]))
end
return {'ok', version, near}
