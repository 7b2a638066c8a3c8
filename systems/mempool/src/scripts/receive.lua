-- mempool/receive v1: accept transactions, each once across all nodes, or say why not.
-- keys: pending(w) stage(rw) inputs(rw) inflight(r) stats(w) events(w) payload(rw keep)...
-- args: most_count, most_bytes, most_events, node, txs...
-- returns: {{"ok"} | {"duplicate", stage} | {"restored", stage} | {"conflict", input, hash} | {"full", limit, used}, ...}
-- repeat: unsafe

-- A call from here costs more than what most of them do. So all transactions are read together, and written together.
local call = redis.call

-- txs: hash, raw, bytes, size, what its entry ends with, a number of inputs and each of them.
local RAW, BYTES, SIZE, ENTRY, SPENDS = 1, 2, 3, 4, 5

local function read_all(key, fields)
  local found = {}
  for i = 1, #fields, 1000 do
    for _, value in ipairs(call('HMGET', key, unpack(fields, i, math.min(i + 999, #fields)))) do
      found[#found + 1] = value
    end
  end
  return found
end

local function write_all(key, pairs_of)
  for i = 1, #pairs_of, 1000 do
    call('HSET', key, unpack(pairs_of, i, math.min(i + 999, #pairs_of)))
  end
end

-- By the place of a transaction: where its words begin; all inputs in a row.
local words, hashes, inputs = {}, {}, {}
local first = 5
while first <= #ARGV do
  words[#words + 1], hashes[#hashes + 1] = first, ARGV[first]
  local last = first + SPENDS + ARGV[first + SPENDS]
  for i = first + SPENDS + 1, last do
    inputs[#inputs + 1] = ARGV[i]
  end
  first = last + 1
end
local entries, spenders = read_all(KEYS[2], hashes), read_all(KEYS[3], inputs)

local refused = {}
local function refuse(total, answer)
  refused[total] = (refused[total] or 0) + 1
  return answer
end

-- Of this call: transactions that are new, and who spends an input.
local is_new, spent = {}, {}

local function first_conflict(hash, from, to)
  for i = from, to do
    local other = spenders[i] or spent[inputs[i]]
    if other and other ~= hash then return inputs[i], other end
  end
end

-- Why not; nothing if it may come in.
local function objection(place, input)
  local at, hash, before = words[place], hashes[place], entries[place]
  if is_new[hash] then return refuse('duplicates', {'duplicate', 'pending'}) end
  local stage = before and string.match(before, '^%a+')
  if stage and stage ~= 'dropped' then
    -- Its bytes were taken away by somebody else: whoever sends it again brings them back.
    if stage ~= 'finalized' and call('EXISTS', KEYS[6 + place]) == 0 then
      call('SET', KEYS[6 + place], ARGV[at + BYTES])
      return {'restored', stage}
    end
    return refuse('duplicates', {'duplicate', stage})
  end
  local what, other = first_conflict(hash, input, input + ARGV[at + SPENDS] - 1)
  if what then return refuse('conflicts', {'conflict', what, other}) end
end

local answers, taken, raws, size, input = {}, {}, {}, 0, 1
for place, at in ipairs(words) do
  local spends = ARGV[at + SPENDS] + 0
  answers[place] = objection(place, input)
  if not answers[place] then
    is_new[hashes[place]] = true
    for i = input, input + spends - 1 do
      spent[inputs[i]] = hashes[place]
    end
    taken[#taken + 1], raws[#raws + 1] = place, ARGV[at + RAW]
    size = size + ARGV[at + SIZE]
  end
  input = input + spends
end

if #taken > 0 then
  local bytes = call('HINCRBY', KEYS[5], 'bytes', string.format('%d', size))
  local count = 0
  for i = 1, #raws, 1000 do
    count = call('RPUSH', KEYS[1], unpack(raws, i, math.min(i + 999, #raws)))
  end
  count = count + call('HLEN', KEYS[4])
  -- Too many: the last ones go again.
  local over = {}
  while #taken > 0 and (count > ARGV[1] + 0 or bytes > ARGV[2] + 0) do
    local place = table.remove(taken)
    local at = words[place]
    over[place] = count > ARGV[1] + 0 and 'count' or 'bytes'
    call('LREM', KEYS[1], -1, ARGV[at + RAW])
    bytes = call('HINCRBY', KEYS[5], 'bytes', '-' .. ARGV[at + SIZE])
    count = count - 1
  end
  for place, limit in pairs(over) do
    answers[place] = refuse('full', {'full', limit, limit == 'count' and count or bytes})
  end
end

local time = call('TIME')[1]
local known, spending = {}, {}
for _, place in ipairs(taken) do
  local at, hash, before = words[place], hashes[place], entries[place]
  answers[place] = {'ok'}
  call('SET', KEYS[6 + place], ARGV[at + BYTES])
  known[#known + 1] = hash
  -- As `tell` does elsewhere, without what a new one does not have.
  if before then
    local version = string.format('%d', string.match(before, '^%a+ (%d+)') + 1)
    known[#known + 1] = 'pending ' .. version .. ' 0 - ' .. time .. ARGV[at + ENTRY]
    call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[3], '0-*', 'hash', hash, 'stage', 'pending', 'from', 'dropped',
      'version', version, 'reason', 'received', 'by', ARGV[4], 'at', time)
  else
    known[#known + 1] = 'pending 1 0 - ' .. time .. ARGV[at + ENTRY]
    call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[3], '0-*', 'hash', hash, 'stage', 'pending', 'version', '1',
      'reason', 'received', 'by', ARGV[4], 'at', time)
  end
  for i = at + SPENDS + 1, at + SPENDS + ARGV[at + SPENDS] do
    spending[#spending + 1] = ARGV[i]
    spending[#spending + 1] = hash
  end
end
write_all(KEYS[2], known)
write_all(KEYS[3], spending)
for total, by in pairs(refused) do
  call('HINCRBY', KEYS[5], total, by)
end
return answers
