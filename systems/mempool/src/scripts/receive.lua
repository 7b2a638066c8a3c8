-- mempool/receive v1: accept transactions, each once across all nodes, or say why not.
-- keys: pending(w) stage(rw) inputs(rw) inflight(r) stats(w) events(w) payload(rw keep)...
-- args: most_count, most_bytes, most_events, node, txs...
-- returns: {"ok" | {"duplicate", stage} | {"restored", stage} | {"conflict", input, hash} | {"full", limit, used}, ...}
-- repeat: unsafe

-- Nearly every transaction is new, spends what nobody spends, and finds room. So each step takes what it checks, at one call;
-- what is refused after all is given back. Here Lua itself costs as much as what it calls: no table, no function and no
-- global that the common case can do without.
local call, argv, stages, inputs, stats = redis.call, ARGV, KEYS[2], KEYS[3], KEYS[5]
local at = call('TIME')[1]

-- txs: hash, raw, bytes, size, what its entry ends with, a number of inputs and each of them.
local answers, raws, size, befores = {}, {}, 0, nil
local first, place, last = 5, 0, #argv
while first <= last do
  place = place + 1
  local hash, spends = argv[first], first + 5 + argv[first + 5]
  local answer = 'ok'
  if call('HSETNX', stages, hash, 'pending 1 0 - ' .. at .. argv[first + 4]) == 0 then
    local before = call('HGET', stages, hash)
    local stage, version = string.match(before, '^(%a+) (%d+)')
    -- The bytes of one that came twice in this call are not there yet.
    local is_new, other = false, 5
    while other < first do
      is_new = is_new or argv[other] == hash
      other = other + 6 + argv[other + 5]
    end
    if stage == 'dropped' then
      befores = befores or {}
      befores[place] = before
      call('HSET', stages, hash, string.format('pending %d 0 - %s%s', version + 1, at, argv[first + 4]))
    elseif stage ~= 'finalized' and not is_new and call('EXISTS', KEYS[6 + place]) == 0 then
      -- Its bytes were taken away by somebody else: whoever sends it again brings them back.
      call('SET', KEYS[6 + place], argv[first + 2])
      answer = {'restored', stage}
    else
      call('HINCRBY', stats, 'duplicates', 1)
      answer = {'duplicate', stage}
    end
  end
  if answer == 'ok' then
    for i = first + 6, spends do
      if call('HSETNX', inputs, argv[i], hash) == 0 then
        answer = {'conflict', argv[i], call('HGET', inputs, argv[i])}
        for j = first + 6, i - 1 do
          call('HDEL', inputs, argv[j])
        end
        if befores and befores[place] then call('HSET', stages, hash, befores[place]) else call('HDEL', stages, hash) end
        call('HINCRBY', stats, 'conflicts', 1)
        break
      end
    end
  end
  if answer == 'ok' then
    raws[#raws + 1] = argv[first + 1]
    size = size + argv[first + 3]
  end
  answers[place] = answer
  first = spends + 1
end
if #raws == 0 then return answers end

local bytes = call('HINCRBY', stats, 'bytes', string.format('%d', size))
local count = 0
for i = 1, #raws, 1000 do
  count = call('RPUSH', KEYS[1], unpack(raws, i, math.min(i + 999, #raws)))
end
count = count + call('HLEN', KEYS[4])
local over = math.max(count - argv[1], 0)
local heavy = bytes - argv[2]

-- The last ones go again while there are too many.
if over > 0 or heavy > 0 then
  local starts = {}
  first = 5
  for i = 1, place do
    starts[i] = first
    first = first + 6 + argv[first + 5]
  end
  for i = place, 1, -1 do
    if answers[i] == 'ok' and (over > 0 or heavy > 0) then
      first = starts[i]
      answers[i] = {'full', over > 0 and 'count' or 'bytes'}
      over, heavy = over - 1, heavy - argv[first + 3]
      count, bytes = count - 1, call('HINCRBY', stats, 'bytes', '-' .. argv[first + 3])
      call('LREM', KEYS[1], -1, argv[first + 1])
      for j = first + 6, first + 5 + argv[first + 5] do
        call('HDEL', inputs, argv[j])
      end
      if befores and befores[i] then call('HSET', stages, argv[first], befores[i]) else call('HDEL', stages, argv[first]) end
      call('HINCRBY', stats, 'full', 1)
    end
  end
  for i = 1, place do
    if answers[i][1] == 'full' then answers[i][3] = answers[i][2] == 'count' and count or bytes end
  end
end

first = 5
for i = 1, place do
  if answers[i] == 'ok' then
    local hash = argv[first]
    call('SET', KEYS[6 + i], argv[first + 2])
    -- As `tell` does elsewhere, without what a new one does not have.
    if befores and befores[i] then
      call('XADD', KEYS[6], 'MAXLEN', '~', argv[3], '0-*', 'hash', hash, 'stage', 'pending', 'from', 'dropped',
        'version', string.match(befores[i], '^%a+ (%d+)') + 1, 'reason', 'received', 'by', argv[4], 'at', at)
    else
      call('XADD', KEYS[6], 'MAXLEN', '~', argv[3], '0-*', 'hash', hash, 'stage', 'pending', 'version', '1',
        'reason', 'received', 'by', argv[4], 'at', at)
    end
  end
  first = first + 6 + argv[first + 5]
end
return answers
