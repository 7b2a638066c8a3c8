-- One command on one key, refused over a limit of the contract, with the TTL of the contract, in one step.
-- KEYS: the key; then the command's second key or the parent, where there is one
-- ARGV: expiry (none, renew, once, linked), milliseconds, most items or empty, command, its arguments behind the keys
-- returns: what the command answers | OVERLIMIT n, NOPARENT: nothing was written | HALFDONE: written, and then it failed
local expiry, millis, most, command = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local FIRST, SLICE = 5, 1000

-- Items that the command names, and how to see which are there already. Items stand every `step` arguments from `from`.
local COUNTED = {
  HSET = { size = 'HLEN', has = 'HEXISTS', from = 5, step = 2 },
  HSETNX = { size = 'HLEN', has = 'HEXISTS', from = 5, step = 2 },
  HINCRBY = { size = 'HLEN', has = 'HEXISTS', from = 5, step = 2 },
  HINCRBYFLOAT = { size = 'HLEN', has = 'HEXISTS', from = 5, step = 2 },
  SADD = { size = 'SCARD', has = 'SISMEMBER', from = 5, step = 1 },
  ZADD = { size = 'ZCARD', has = 'ZSCORE', from = 6, step = 2 },
  ZINCRBY = { size = 'ZCARD', has = 'ZSCORE', from = 6, step = 2 },
  LPUSH = { size = 'LLEN', from = 5, step = 1 },
  RPUSH = { size = 'LLEN', from = 5, step = 1 },
}

-- Whether an item is there. A user who may not look is treated as if it were not: refused rather than over the limit.
local function is_there(has, item)
  local found = redis.pcall(has, KEYS[1], item)
  return found and found ~= 0 and not (type(found) == 'table' and found.err)
end

local function size_after(counted)
  local size = redis.call(counted.size, KEYS[1])
  local items = math.floor((#ARGV - counted.from) / counted.step) + 1
  if size + items <= most or not counted.has then
    return size + items
  end
  local named = {}
  for at = counted.from, #ARGV, counted.step do
    local item = ARGV[at]
    if not named[item] and not is_there(counted.has, item) then
      size = size + 1
    end
    named[item] = true
  end
  return size
end

if most then
  -- What is moved is counted where it goes.
  local size = command == 'LMOVE' and redis.call('LLEN', KEYS[2]) + 1 or size_after(COUNTED[command])
  if size > most then
    return redis.error_reply('OVERLIMIT ' .. size)
  end
end

local parent_ends
if expiry == 'linked' then
  parent_ends = redis.call('PEXPIRETIME', KEYS[2])
  if parent_ends == -2 then
    return redis.error_reply('NOPARENT nothing to live as long as')
  end
end

local function half_done(why)
  return redis.error_reply('HALFDONE ' .. tostring(why))
end

-- Lua cannot unpack long lists, so long commands go in slices; counts add up, lengths are those of the last.
local ADDS_UP = { HSET = true, SADD = true, ZADD = true }
local SLICED = { HSET = true, SADD = true, ZADD = true, LPUSH = true, RPUSH = true }

local function run()
  if expiry ~= 'linked' and KEYS[2] then
    return redis.call(command, KEYS[1], KEYS[2], unpack(ARGV, FIRST))
  end
  if #ARGV - FIRST < SLICE or not SLICED[command] then
    return redis.call(command, KEYS[1], unpack(ARGV, FIRST))
  end
  local answer = 0
  for from = FIRST, #ARGV, SLICE do
    local part = redis.pcall(command, KEYS[1], unpack(ARGV, from, math.min(from + SLICE - 1, #ARGV)))
    if type(part) == 'table' and part.err then
      return from > FIRST and half_done(part.err) or part
    end
    answer = ADDS_UP[command] and answer + part or part
  end
  return answer
end

-- The TTL, as a command to be run on the key that was written.
local function expire(target)
  if expiry == 'renew' then
    return redis.pcall('PEXPIRE', target, millis)
  elseif expiry == 'once' then
    return redis.pcall('PEXPIRE', target, millis, 'NX')
  elseif expiry == 'linked' and parent_ends == -1 then
    return redis.pcall('PERSIST', target)
  elseif expiry == 'linked' then
    local now = redis.call('TIME')
    local earliest = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(millis)
    return redis.pcall('PEXPIREAT', target, string.format('%.0f', math.max(parent_ends, earliest)))
  end
end

-- Numbers of Lua are exact up to here; beyond, the true one is read back as text, by who may read.
local EXACT = 9007199254740992
local function exact(answer)
  if type(answer) ~= 'number' or (answer < EXACT and answer > -EXACT) then
    return answer
  end
  local text
  if command == 'INCRBY' then
    text = redis.pcall('GET', KEYS[1])
  elseif command == 'HINCRBY' then
    text = redis.pcall('HGET', KEYS[1], ARGV[FIRST])
  end
  return type(text) == 'string' and text or half_done('the new number is too large to be told')
end

local answer = run()
if type(answer) == 'table' and answer.err then
  if string.sub(answer.err, 1, 8) ~= 'HALFDONE' then
    return answer
  end
  -- What was written before it failed must not live for ever.
  expire(KEYS[1])
  return answer
end
-- A move of nothing writes nothing.
if answer then
  local set = expire(expiry ~= 'linked' and KEYS[2] or KEYS[1])
  if type(set) == 'table' and set.err then
    return half_done(set.err)
  end
end
return exact(answer)
