-- mempool/commit v1: carry out a plan of the watcher, all of it or nothing: move transactions, set the tip, trim what is finished.
-- keys: watcher_lock_fence(r) tip(w) applied(w) stage(rw) pending(rw) inflight(w) finalized(w) finalized_index(rw)
--   seq(w) due(rw) offered(w) inputs(rw) stats(rw) events(w) payload(rw)...
-- args: fence, commits, node, most_events, ttl(payload), height, slot, block, changes, forget, base, plan...
-- returns: {"ok", due left} | {"fenced"} | {"changed"} | {"payloads", {hash, ...}}
-- repeat: safe

local call = redis.call
-- include: events.lua
-- include: stage.lua
-- include: pending.lua
-- include: spenders.lua

-- plan: a number of moves, nine values for each; a number of trims, a hash and the number of an entry for each; hashes that
-- nobody knows.
local MOVE, first = 9, 13
local height, moves = ARGV[6], tonumber(ARGV[12])
local after_moves = first + moves * MOVE
local trims = tonumber(ARGV[after_moves])

-- Conditions first: a script that has written cannot take it back.
if call('GET', KEYS[1]) ~= ARGV[1] then return {'fenced'} end
if (call('HGET', KEYS[13], 'commits') or '0') ~= ARGV[2] then return {'changed'} end
-- No era, no bytes: what a record holds of a transaction whose bytes are nowhere. It is kept in records alone.
local GONE = '\130\0\64'
local payloads, txs, missing = {}, {}, {}
for i = 1, moves do
  local at = first + (i - 1) * MOVE
  local from = ARGV[at + 2] .. ' '
  local entry = call('HGET', KEYS[4], ARGV[at + 1])
  if not entry or string.sub(entry, 1, #from) ~= from then return {'changed'} end
  local payload = ARGV[at + 8]
  if payload == '' then
    payload = call('GET', KEYS[14 + i])
    if not payload then missing[#missing + 1] = ARGV[at + 1] end
  elseif payload == GONE and call('EXISTS', KEYS[14 + i]) == 1 then
    -- Somebody has sent it again meanwhile.
    return {'changed'}
  end
  payloads[i], txs[i] = payload, string.sub(entry, #from + 1)
end
for i = after_moves + 1 + 2 * trims, #ARGV do
  if call('HEXISTS', KEYS[4], ARGV[i]) == 1 then return {'changed'} end
end
if #missing > 0 then return {'payloads', missing} end

local time = now()
local add = {}
local function count(name, by)
  add[name] = (add[name] or 0) + by
end

-- The first block of a pool's life: what was offered before it counts its misses from here.
local base = tonumber(ARGV[11])
if base then
  local early = call('ZRANGE', KEYS[10], 0, -1, 'WITHSCORES')
  for i = 1, #early, 2 do
    local hash = string.match(early[i], ':(.*)$')
    local stage, version, _, tx = read_stage(call('HGET', KEYS[4], hash))
    call('ZADD', KEYS[10], early[i + 1] + base, early[i])
    call('HSET', KEYS[4], hash, stage .. ' ' .. version .. ' ' .. ARGV[11] .. ' - ' .. tx)
  end
end

local final = {finalized = true, dropped = true}
local inflight = {propagated = true, acknowledged = true, confirmed = true}
local offered = {propagated = true, acknowledged = true}
local due = {propagated = 'drop:', acknowledged = 'drop:', confirmed = 'finalize:'}

-- Takes the entry of a transaction out of the finished ones.
local function strike(hash)
  local seq = call('HGET', KEYS[8], hash)
  if seq then
    call('ZREMRANGEBYSCORE', KEYS[7], seq, seq)
    call('HDEL', KEYS[8], hash)
  end
  return seq
end

-- Of a transaction: when it was received, its size, the inputs that it spends.
local function size(tx)
  return tonumber(string.match(tx, '^%d+ (%d+)'))
end

local function finish(hash, entry, payload, tx, stage)
  strike(hash)
  local seq = string.format('%d', call('INCR', KEYS[9]))
  call('ZADD', KEYS[7], seq, entry)
  call('HSET', KEYS[8], hash, seq)
  call('PEXPIRE', payload, ARGV[5])
  for input in string.gmatch(tx, '%x+#%d+') do
    release(KEYS[12], input, hash)
  end
  count('bytes', -size(tx))
  count(stage, 1)
end

local function reopen(hash, payload, tx, to)
  strike(hash)
  call('PERSIST', payload)
  for input in string.gmatch(tx, '%x+#%d+') do
    spend(KEYS[12], input, hash, to == 'confirmed')
  end
  count('bytes', size(tx))
  count('reopened', 1)
end

local out, taken, back = {}, 0, {}
for i = 1, moves do
  local at = first + (i - 1) * MOVE
  local raw, hash = ARGV[at], ARGV[at + 1]
  local from, to = string.match(ARGV[at + 2], '^%a+'), string.match(ARGV[at + 3], '^%a+')
  local before, behind, reason, payload = ARGV[at + 5], ARGV[at + 6], ARGV[at + 7], KEYS[14 + i]
  if ARGV[at + 8] ~= '' and ARGV[at + 8] ~= GONE then call('SET', payload, ARGV[at + 8]) end

  if from == 'pending' then
    out[raw] = true
    taken = taken + 1
  elseif inflight[from] then
    call('ZREM', KEYS[10], due[from] .. hash)
    if not inflight[to] then call('HDEL', KEYS[6], raw) end
  elseif not final[to] then
    reopen(hash, payload, txs[i], to)
  end

  if offered[from] and not offered[to] then
    call('ZREM', KEYS[11], hash)
  elseif offered[to] and not offered[from] then
    call('ZADD', KEYS[11], call('HINCRBY', KEYS[13], 'offers', 1), hash)
  end
  if to == 'pending' then
    back[#back + 1] = raw
  elseif inflight[to] then
    call('HSET', KEYS[6], raw, before .. payloads[i] .. behind)
    call('ZADD', KEYS[10], ARGV[at + 4], due[to] .. hash)
  else
    finish(hash, before .. payloads[i] .. behind, payload, txs[i], to)
  end

  call('HSET', KEYS[4], hash, ARGV[at + 3] .. ' ' .. txs[i])
  if reason == 'corrected' then count('corrected', 1) end
  if reason == 'undo' then count('rolled_back', 1) end
  tell(KEYS[14], ARGV[4], hash, to, from, string.match(ARGV[at + 3], '^%a+ (%d+)'), height, reason, ARGV[3], time)
end
take_out(KEYS[5], out, taken)
-- To the head, the first one last: parents go before their children, and before whatever was received after them.
for i = #back, 1, -1 do
  call('LPUSH', KEYS[5], back[i])
end

for i = 1, trims do
  local hash, seq = ARGV[after_moves + 2 * i - 1], ARGV[after_moves + 2 * i]
  local newest = call('HGET', KEYS[8], hash)
  -- Without a number it was finished above.
  if seq == '' then seq = newest end
  call('ZREMRANGEBYSCORE', KEYS[7], seq, seq)
  call('HSET', KEYS[13], 'trimmed_to', seq)
  if not newest or newest == seq then
    call('HDEL', KEYS[8], hash)
    if final[string.match(call('HGET', KEYS[4], hash) or '', '^%a+')] then
      call('HDEL', KEYS[4], hash)
      call('DEL', KEYS[14 + moves + i])
    end
  end
end

if ARGV[9] ~= '' then call('HSET', KEYS[3], height, ARGV[9]) end
if ARGV[10] ~= '' then call('HDEL', KEYS[3], ARGV[10]) end
if ARGV[8] ~= '' then
  call('HSET', KEYS[2], 'height', height, 'slot', ARGV[7], 'hash', ARGV[8], 'applied_at', time, 'fence', ARGV[1])
end
count('commits', 1)
for name, by in pairs(add) do
  if by ~= 0 then call('HINCRBY', KEYS[13], name, by) end
end
if height == '' then return {'ok', 0} end
return {'ok', call('ZCOUNT', KEYS[10], '-inf', '(' .. height + 1)}
