-- mempool/adopt v1: make known what the original wrote and this pool does not know yet; what it knows is left alone.
-- keys: watcher_lock_fence(r) stage(w) due(w) offered(w) inputs(rw) finalized_index(w) stats(w) payload(w keep)...
-- args: fence, txs...
-- returns: number adopted | -1 when fenced
-- repeat: safe

local call = redis.call
-- include: spenders.lua

if call('GET', KEYS[1]) ~= ARGV[1] then return -1 end

-- txs: hash, entry, size, member of due, its height, number of its finished entry, a number of inputs and each of them.
local adopted, first, place = 0, 2, 0
while first <= #ARGV do
  place = place + 1
  local hash, due, seq = ARGV[first], ARGV[first + 3], ARGV[first + 5]
  local last = first + 6 + ARGV[first + 6]
  if call('HSETNX', KEYS[2], hash, ARGV[first + 1]) == 1 then
    adopted = adopted + 1
    if seq ~= '' then
      call('HSET', KEYS[6], hash, seq)
    else
      call('PERSIST', KEYS[7 + place])
      call('HINCRBY', KEYS[7], 'bytes', ARGV[first + 2])
      for i = first + 7, last do
        spend(KEYS[5], ARGV[i], hash, false)
      end
    end
    if due ~= '' then call('ZADD', KEYS[3], ARGV[first + 4], due) end
    if string.sub(due, 1, 5) == 'drop:' then
      call('ZADD', KEYS[4], call('HINCRBY', KEYS[7], 'offers', 1), hash)
    end
  end
  first = last + 1
end
return adopted
