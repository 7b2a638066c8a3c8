-- mempool/receive v1: accept transactions, each once across all nodes, or say why not.
-- keys: pending(w) stage(rw) inputs(rw) inflight(r) stats(w) events(w) payload(rw keep)...
-- args: most_count, most_bytes, most_events, node, size, txs...
-- returns: of those that were not simply accepted: {{place, "duplicate", stage} | {place, "restored", stage} |
--   {place, "conflict", input, hash} | {place, "full", limit, used}, ...}
-- repeat: unsafe

-- Nearly every transaction is new, spends what nobody spends, and finds room. So each step takes what it checks, at one call;
-- what is refused after all is given back. Here Lua itself costs as much as what it calls: no table, no function and no
-- global that the common case can do without.
local call, argv, stages, inputs, stats = redis.call, ARGV, KEYS[2], KEYS[3], KEYS[5]
local at = call('TIME')[1]

-- txs: hash, raw, bytes, what its entry ends with, the size first, and its inputs, which are longer than a hash. All of them
-- have `size` bytes.
local starts, raws, less, refused, befores = {}, {}, 0, nil, nil
local first, place, last = 6, 0, #argv
while first <= last do
  place = place + 1
  starts[place] = first
  local hash, next, answer = argv[first], first + 4, nil
  while next <= last and #argv[next] > 64 do
    next = next + 1
  end
  if call('HSETNX', stages, hash, 'pending 1 0 - ' .. at .. argv[first + 3]) == 0 then
    local before = call('HGET', stages, hash)
    local stage, version = string.match(before, '^(%a+) (%d+)')
    -- The bytes of one that came twice in this call are not there yet.
    local is_new = false
    for i = 1, place - 1 do
      is_new = is_new or argv[starts[i]] == hash
    end
    if stage == 'dropped' then
      befores = befores or {}
      befores[place] = before
      call('HSET', stages, hash, string.format('pending %d 0 - %s%s', version + 1, at, argv[first + 3]))
    elseif stage ~= 'finalized' and not is_new and call('EXISTS', KEYS[6 + place]) == 0 then
      -- Its bytes were taken away by somebody else: whoever sends it again brings them back.
      call('SET', KEYS[6 + place], argv[first + 2])
      answer = {place, 'restored', stage}
    else
      call('HINCRBY', stats, 'duplicates', 1)
      answer = {place, 'duplicate', stage}
    end
  end
  if not answer then
    for i = first + 4, next - 1 do
      if call('HSETNX', inputs, argv[i], hash) == 0 then
        answer = {place, 'conflict', argv[i], string.match(call('HGET', inputs, argv[i]), '%x+')}
        for j = first + 4, i - 1 do
          call('HDEL', inputs, argv[j])
        end
        if befores and befores[place] then call('HSET', stages, hash, befores[place]) else call('HDEL', stages, hash) end
        call('HINCRBY', stats, 'conflicts', 1)
        break
      end
    end
  end
  if answer then
    refused = refused or {}
    refused[place] = answer
    less = less + string.match(argv[first + 3], '%d+')
  else
    raws[#raws + 1] = argv[first + 1]
  end
  first = next
end
starts[place + 1] = first

local bytes, count = 0, 0
if #raws > 0 then
  local size = argv[5]
  if less > 0 then size = string.format('%d', size - less) end
  bytes = call('HINCRBY', stats, 'bytes', size)
  for i = 1, #raws, 1000 do
    count = call('RPUSH', KEYS[1], unpack(raws, i, math.min(i + 999, #raws)))
  end
  count = count + call('HLEN', KEYS[4])
end

-- The last ones go again while there are too many.
if #raws > 0 and (count > argv[1] + 0 or bytes > argv[2] + 0) then
  refused = refused or {}
  for i = place, 1, -1 do
    if not refused[i] and (count > argv[1] + 0 or bytes > argv[2] + 0) then
      first = starts[i]
      refused[i] = {i, 'full', count > argv[1] + 0 and 'count' or 'bytes'}
      count, bytes = count - 1, call('HINCRBY', stats, 'bytes', '-' .. string.match(argv[first + 3], '%d+'))
      call('LREM', KEYS[1], -1, argv[first + 1])
      for j = first + 4, starts[i + 1] - 1 do
        call('HDEL', inputs, argv[j])
      end
      if befores and befores[i] then call('HSET', stages, argv[first], befores[i]) else call('HDEL', stages, argv[first]) end
      call('HINCRBY', stats, 'full', 1)
    end
  end
  local gone = {}
  for i, answer in pairs(refused) do
    if answer[2] == 'full' then gone[argv[starts[i]]] = answer[3] end
  end
  for i, answer in pairs(refused) do
    -- What stood in its way has found no room itself, and is not here.
    local limit = answer[2] == 'duplicate' and gone[argv[starts[i]]] or answer[2] == 'conflict' and gone[answer[4]]
    if limit then
      call('HINCRBY', stats, answer[2] .. 's', -1)
      call('HINCRBY', stats, 'full', 1)
      refused[i] = {i, 'full', limit}
    end
  end
  for _, answer in pairs(refused) do
    if answer[2] == 'full' then answer[4] = answer[3] == 'count' and count or bytes end
  end
end

-- As `tell` does elsewhere; but a new one has no stage before, and those that came together share an entry, all but the first:
-- its number is the server's, and theirs follow it.
local log, most, why = KEYS[6], argv[3], 'received 1 ' .. at .. ' ' .. argv[4]
local news, count_news = {}, 0
for i = 1, place do
  if not (refused and refused[i]) then
    first = starts[i]
    call('SET', KEYS[6 + i], argv[first + 2])
    if befores and befores[i] then
      call('XADD', log, '0-*', 'hash', argv[first], 'stage', 'pending',
        'why', string.format('received %d %s %s dropped', string.match(befores[i], '^%a+ (%d+)') + 1, at, argv[4]))
    else
      count_news = count_news + 1
      news[count_news] = argv[first]
    end
  end
end
if count_news > 0 then
  local id = call('XADD', log, 'MAXLEN', '~', most, '0-*', 'hash', news[1], 'stage', 'pending', 'why', why)
  if count_news > 1 then
    call('XADD', log, string.format('0-%d', string.sub(id, 3) + count_news - 1), 'hash', table.concat(news, ' ', 2),
      'stage', 'pending', 'why', why)
  end
end
if not refused then return {} end
local told = {}
for _, answer in pairs(refused) do
  told[#told + 1] = answer
end
return told
