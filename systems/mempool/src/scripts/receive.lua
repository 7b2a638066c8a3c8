-- mempool/receive v1: accept a transaction once across all nodes, or say why not.
-- keys: pending(w) payload(rw keep) stage(rw) inputs(rw) inflight(r) stats(w) events(w)
-- args: hash, raw, bytes, size, spends, most_count, most_bytes, most_events, node, spent...
-- returns: {"ok"} | {"duplicate", stage} | {"restored", stage} | {"conflict", input, hash} | {"full", limit, used}
-- repeat: unsafe

-- Nearly every transaction is new, spends what nobody spends, and finds room. So each step takes what it checks, at one call;
-- what is refused after all is given back.
local call = redis.call
local hash = ARGV[1]
local at = call('TIME')[1]
local version, before = '1', false

if call('HSETNX', KEYS[3], hash, 'pending 1 0 - ' .. at .. ARGV[5]) == 0 then
  before = call('HGET', KEYS[3], hash)
  local stage = string.match(before, '^%a+')
  if stage ~= 'dropped' then
    -- Its bytes were taken away by somebody else: whoever sends it again brings them back.
    if stage ~= 'finalized' and call('EXISTS', KEYS[2]) == 0 then
      call('SET', KEYS[2], ARGV[3])
      return {'restored', stage}
    end
    call('HINCRBY', KEYS[6], 'duplicates', 1)
    return {'duplicate', stage}
  end
  version = string.format('%d', string.match(before, '^%a+ (%d+)') + 1)
  call('HSET', KEYS[3], hash, 'pending ' .. version .. ' 0 - ' .. at .. ARGV[5])
end

local function give_back(spent, total)
  for i = 10, spent do
    call('HDEL', KEYS[4], ARGV[i])
  end
  if before then call('HSET', KEYS[3], hash, before) else call('HDEL', KEYS[3], hash) end
  call('HINCRBY', KEYS[6], total, 1)
end

for i = 10, #ARGV do
  if call('HSETNX', KEYS[4], ARGV[i], hash) == 0 then
    local other = call('HGET', KEYS[4], ARGV[i])
    give_back(i - 1, 'conflicts')
    return {'conflict', ARGV[i], other}
  end
end

local bytes = call('HINCRBY', KEYS[6], 'bytes', ARGV[4])
if bytes > ARGV[7] + 0 then
  give_back(#ARGV, 'full')
  return {'full', 'bytes', call('HINCRBY', KEYS[6], 'bytes', '-' .. ARGV[4])}
end
local count = call('RPUSH', KEYS[1], ARGV[2]) + call('HLEN', KEYS[5])
if count > ARGV[6] + 0 then
  call('LREM', KEYS[1], -1, ARGV[2])
  call('HINCRBY', KEYS[6], 'bytes', '-' .. ARGV[4])
  give_back(#ARGV, 'full')
  return {'full', 'count', count - 1}
end

call('SET', KEYS[2], ARGV[3])
-- As `tell` does elsewhere, without what a new one does not have.
if before then
  call('XADD', KEYS[7], 'MAXLEN', '~', ARGV[8], '0-*', 'hash', hash, 'stage', 'pending', 'from', 'dropped', 'version', version,
    'reason', 'received', 'by', ARGV[9], 'at', at)
else
  call('XADD', KEYS[7], 'MAXLEN', '~', ARGV[8], '0-*', 'hash', hash, 'stage', 'pending', 'version', '1',
    'reason', 'received', 'by', ARGV[9], 'at', at)
end
return {'ok'}
