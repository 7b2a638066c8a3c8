-- One command on one key, refused over a limit of the contract, with the TTL of the contract, in one step.
-- KEYS: the key; then the command's second key or the parent, where there is one
-- ARGV: expiry (none, renew, once, linked), milliseconds, most items or empty, command, its arguments behind the keys
-- returns: what the command answers | OVERLIMIT n, NOPARENT: nothing was written
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
  for at = counted.from, #ARGV, counted.step do
    if not is_there(counted.has, ARGV[at]) then
      size = size + 1
    end
  end
  return size
end

if most then
  local size = size_after(COUNTED[command])
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

-- Lua cannot unpack long lists, so long commands go in slices; counts add up, lengths are those of the last.
local function run()
  local second = expiry ~= 'linked' and KEYS[2] or nil
  if #ARGV - FIRST < SLICE then
    if second then
      return redis.call(command, KEYS[1], second, unpack(ARGV, FIRST))
    end
    return redis.call(command, KEYS[1], unpack(ARGV, FIRST))
  end
  local adds_up = command == 'HSET' or command == 'SADD' or command == 'ZADD'
  local answer = 0
  for from = FIRST, #ARGV, SLICE do
    local part = redis.call(command, KEYS[1], unpack(ARGV, from, math.min(from + SLICE - 1, #ARGV)))
    answer = adds_up and answer + part or part
  end
  return answer
end

local answer = run()
local target = expiry ~= 'linked' and KEYS[2] or KEYS[1]
if expiry == 'renew' then
  redis.call('PEXPIRE', target, millis)
elseif expiry == 'once' then
  redis.call('PEXPIRE', target, millis, 'NX')
elseif expiry == 'linked' then
  if parent_ends == -1 then
    redis.call('PERSIST', target)
  else
    local now = redis.call('TIME')
    local earliest = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(millis)
    redis.call('PEXPIREAT', target, string.format('%d', math.max(parent_ends, earliest)))
  end
end
return answer
