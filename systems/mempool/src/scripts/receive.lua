-- mempool/receive v1: accept transactions, each once across all nodes, or say why not.
-- keys: pending(w) stage(rw) inputs(rw) inflight(r) stats(w) events(w) payload(rw keep)...
-- args: most_count, most_bytes, most_events, node, txs...
-- returns: {{"ok"} | {"duplicate", stage} | {"restored", stage} | {"conflict", input, hash} | {"full", limit, used}, ...}
-- repeat: unsafe

-- Nearly every transaction is new, spends what nobody spends, and finds room. So each step takes what it checks, at one call;
-- what is refused after all is given back.
local call = redis.call
local at = call('TIME')[1]

-- txs: hash, raw, bytes, size, what its entry ends with, a number of inputs and each of them.
local HASH, RAW, BYTES, SIZE, ENTRY, SPENDS = 0, 1, 2, 3, 4, 5

-- By the place of a transaction: where its words begin, its version, its entry before.
local words, versions, befores = {}, {}, {}

local function give_back(place, inputs, total)
  local first, before = words[place], befores[place]
  for i = first + SPENDS + 1, first + SPENDS + inputs do
    call('HDEL', KEYS[3], ARGV[i])
  end
  if before then call('HSET', KEYS[2], ARGV[first + HASH], before) else call('HDEL', KEYS[2], ARGV[first + HASH]) end
  call('HINCRBY', KEYS[5], total, 1)
end

-- Takes its place and its inputs, or says why not.
local function take(place)
  local first = words[place]
  local hash, entry = ARGV[first + HASH], ARGV[first + ENTRY]
  versions[place] = '1'
  if call('HSETNX', KEYS[2], hash, 'pending 1 0 - ' .. at .. entry) == 0 then
    local before = call('HGET', KEYS[2], hash)
    local stage, version = string.match(before, '^(%a+) (%d+)')
    if stage ~= 'dropped' then
      -- Its bytes were taken away by somebody else: whoever sends it again brings them back.
      if stage ~= 'finalized' and call('EXISTS', KEYS[6 + place]) == 0 then
        call('SET', KEYS[6 + place], ARGV[first + BYTES])
        return {'restored', stage}
      end
      call('HINCRBY', KEYS[5], 'duplicates', 1)
      return {'duplicate', stage}
    end
    befores[place], versions[place] = before, string.format('%d', version + 1)
    call('HSET', KEYS[2], hash, 'pending ' .. versions[place] .. ' 0 - ' .. at .. entry)
  end
  for i = 1, ARGV[first + SPENDS] do
    local input = ARGV[first + SPENDS + i]
    if call('HSETNX', KEYS[3], input, hash) == 0 then
      local other = call('HGET', KEYS[3], input)
      give_back(place, i - 1, 'conflicts')
      return {'conflict', input, other}
    end
  end
end

local answers, taken, raws, size = {}, {}, {}, 0
local first, place = 5, 0
while first <= #ARGV do
  place = place + 1
  words[place] = first
  answers[place] = take(place)
  if not answers[place] then
    taken[#taken + 1] = place
    raws[#raws + 1] = ARGV[first + RAW]
    size = size + ARGV[first + SIZE]
  end
  first = first + SPENDS + 1 + ARGV[first + SPENDS]
end

local bytes, count = 0, 0
if #taken > 0 then
  bytes = call('HINCRBY', KEYS[5], 'bytes', string.format('%d', size))
  for i = 1, #raws, 1000 do
    count = call('RPUSH', KEYS[1], unpack(raws, i, math.min(i + 999, #raws)))
  end
  count = count + call('HLEN', KEYS[4])
end

-- Too many: the last ones go again.
while #taken > 0 and (count > ARGV[1] + 0 or bytes > ARGV[2] + 0) do
  place = table.remove(taken)
  first = words[place]
  local which, used = 'bytes', bytes - ARGV[first + SIZE]
  if count > ARGV[1] + 0 then which, used = 'count', count - 1 end
  answers[place] = {'full', which, used}
  call('LREM', KEYS[1], -1, ARGV[first + RAW])
  bytes = call('HINCRBY', KEYS[5], 'bytes', '-' .. ARGV[first + SIZE])
  count = count - 1
  give_back(place, ARGV[first + SPENDS] + 0, 'full')
end

for _, stays in ipairs(taken) do
  first = words[stays]
  answers[stays] = {'ok'}
  call('SET', KEYS[6 + stays], ARGV[first + BYTES])
  -- As `tell` does elsewhere, without what a new one does not have.
  if befores[stays] then
    call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[3], '0-*', 'hash', ARGV[first], 'stage', 'pending', 'from', 'dropped',
      'version', versions[stays], 'reason', 'received', 'by', ARGV[4], 'at', at)
  else
    call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[3], '0-*', 'hash', ARGV[first], 'stage', 'pending', 'version', '1',
      'reason', 'received', 'by', ARGV[4], 'at', at)
  end
end
return answers
